//! The directory at the memory controller, for systems without a shared last-level cache.
//! [`directory`](super::directory) explains its labels.
//!
//! The paper's half-coherent configuration joins CPU and GPU at the memory controller, and software flushes all
//! caches (`[giles 4.2]`); here the directory is there instead. It is [`l3`](super::l3) without a cache: the line is
//! always present, so `M` and `E` are one state (`Uncached`), and so are `M_Pending` and `E_Pending`. `Evict` flushes a
//! line: all caches above give it up (`M_Flush`).

use crate::protocol;

protocol! {
 /// Tables 3.4 and 3.5 without a cache.
 mc actions(Hold HoldAlone HoldAsked HoldAskedAlone Unhold PutS PutClnX PutX Nack Ask AnswerS AnswerClnX AnswerX UpgradeAck Take Ack
  GetFwd GetXFwd GrantAcks UpgradeAcks Inval Count Flush InvalAll Settled SdramLoad SdramStore Fill Drop Land)
 on(         Fetch                   FetchOwner        Load                        LoadOwner)
 Uncached  { [S HoldAlone PutS]      x                 [E_Held HoldAlone PutClnX]  x                }
 M_Held    { [M_Pending Ask GetFwd]  [S PutS]          [M_Pending Ask GetFwd]      [M_Held PutX]    }
 M_Pending { [M_Pending Nack]        [M_Pending Nack]  [M_Pending Nack]            [M_Pending Nack] }
 M_Inval   { [M_Inval Nack]          x                 [M_Inval Nack]              x                }
 M_Flush   { [M_Flush Nack]          [M_Flush Nack]    [M_Flush Nack]              [M_Flush Nack]   }
 E_Held    { [M_Pending Ask GetFwd]  [S PutS]          [M_Pending Ask GetFwd]      [E_Held PutClnX] }
 S         { [S Hold PutS]           [S PutS]          [S Hold PutS]               [S PutS]         };
 on(         Upgrade                                UpgradeOwner         Store                                StoreOwner)
 Uncached  { x                                      x                    [M_Held HoldAlone PutX]              x                }
 M_Held    { x                                      x                    [M_Pending Ask GetXFwd]              [M_Held PutX]    }
 M_Pending { [M_Pending Nack]                       [M_Pending Nack]     [M_Pending Nack]                     [M_Pending Nack] }
 M_Inval   { [M_Inval Nack]                         x                    [M_Inval Nack]                       x                }
 M_Flush   { [M_Flush Nack]                         [M_Flush Nack]       [M_Flush Nack]                       [M_Flush Nack]   }
 E_Held    { x                                      x                    [M_Pending Ask GetXFwd]              [M_Held PutX]    }
 S         { [M_Inval UpgradeAcks Inval HoldAlone]  [M_Held UpgradeAck]  [M_Inval GrantAcks Inval HoldAlone]  [M_Held PutX]    };
 on(         WriteBack                   FwdAck                      FwdAckX                          FwdNack                     FwdNackX)
 Uncached  { x                           x                           x                                x                           x                               }
 M_Held    { [Uncached Land Unhold Ack]  x                           x                                x                           x                               }
 M_Pending { [M_Pending Land Ack]        [S Land HoldAsked Settled]  [M_Held HoldAskedAlone Settled]  [S HoldAskedAlone AnswerS]  [M_Held HoldAskedAlone AnswerX] }
 M_Inval   { z                           x                           x                                x                           x                               }
 M_Flush   { [M_Flush Land Ack]          x                           x                                x                           x                               }
 E_Held    { [Uncached Land Unhold Ack]  x                           x                                x                           x                               }
 S         { x                           x                           x                                x                           x                               };
 on(         InvAck           InvAckLast      Evict               Drain)
 Uncached  { x                x               [Uncached]          x     }
 M_Held    { x                x               [M_Flush Flush]     x     }
 M_Pending { x                x               z                   x     }
 M_Inval   { [M_Inval Count]  [M_Held Count]  z                   x     }
 M_Flush   { x                x               z                   x     }
 E_Held    { x                x               [M_Flush Flush]     x     }
 S         { x                x               [M_Flush InvalAll]  x     };
 on(         Flushed          FlushedClean             FlushedDirty                  Data  Landed)
 Uncached  { x                x                        x                             x     x      }
 M_Held    { x                x                        x                             x     x      }
 M_Pending { x                x                        x                             x     x      }
 M_Inval   { x                x                        x                             x     x      }
 M_Flush   { [M_Flush Count]  [Uncached Count Unhold]  [Uncached Land Count Unhold]  x     x      }
 E_Held    { x                x                        x                             x     x      }
 S         { x                x                        x                             x     x      }
}
