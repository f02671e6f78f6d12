//! A CPU core's instruction cache: table 3.1 of `[giles]`. [`l1`](super::l1) explains its labels.
//!
//! A load here is the paper's fetch. A line is either shared or not held.

use crate::protocol;

protocol! {
 /// Table 3.1.
 l1i actions(Hit Write Ask Take Get GetX Upgrade Drop KeepStore Fill Loaded Stored Modify WriteBack Landed Clean Flushed FlushedData Bring Found)
 on(            Load)
 S            { [S Hit]          }
 I            { [I_GetS Ask Get] }
 I_GetS       { z                }
 I_GetS_Retry { z                };
 on(            Store  Evict     Drain  Retry         PutS             PutClnX  PutX  Nack            WriteBackAck  Inval                   CoreFlush  Downgrade  Modify)
 S            { x      [I Drop]  x      x             x                x        x     x               x             [I Flushed Drop]        x          x          x      }
 I            { x      x         x      x             x                x        x     x               x             [I Flushed]             x          x          x      }
 I_GetS       { x      z         x      x             [S Fill Loaded]  x        x     [I_GetS_Retry]  x             z                       x          x          x      }
 I_GetS_Retry { x      z         x      [I_GetS Get]  x                x        x     x               x             [I_GetS_Retry Flushed]  x          x          x      }
}
