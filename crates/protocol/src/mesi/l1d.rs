//! A CPU core's data cache: table 3.2 of `[giles]`. [`l1`](super::l1) explains its labels.

use crate::protocol;

protocol! {
 /// Table 3.2.
 l1d actions(Hit Write Ask Take Get GetX Upgrade Drop KeepStore Fill Loaded Stored Modify WriteBack Landed Clean Flushed FlushedData Bring Found)
 on(                 Load             Store)
 M                 { [M Hit]          [M Write]                            }
 E                 { [E Hit]          [M Write]                            }
 S                 { [S Hit]          [S_Pending_Upgrade Ask Take Upgrade] }
 S_Pending_Upgrade { z                z                                    }
 S_Upgrade_Retry   { z                z                                    }
 I                 { [I_Get Ask Get]  [I_GetX Ask Take GetX]               }
 I_Get             { z                z                                    }
 I_Get_Retry       { z                z                                    }
 I_GetX            { z                z                                    }
 I_GetX_Retry      { z                z                                    }
 I_WB_Writable     { [M Hit]          [M Write]                            }
 I_WB_Non_Writable { z                z                                    };
 on(                 Evict            Drain                               Retry)
 M                 { [I_WB_Writable]  x                                   x                           }
 E                 { [I Drop]         x                                   x                           }
 S                 { [I Drop]         x                                   x                           }
 S_Pending_Upgrade { z                x                                   x                           }
 S_Upgrade_Retry   { z                x                                   [S_Pending_Upgrade Upgrade] }
 I                 { x                x                                   x                           }
 I_Get             { z                x                                   x                           }
 I_Get_Retry       { z                x                                   [I_Get Get]                 }
 I_GetX            { z                x                                   x                           }
 I_GetX_Retry      { z                x                                   [I_GetX GetX]               }
 I_WB_Writable     { x                [I_WB_Non_Writable WriteBack Drop]  x                           }
 I_WB_Non_Writable { z                x                                   x                           };
 on(                 PutS             PutClnX          PutX                    Nack               WriteBackAck)
 M                 { x                x                x                       x                  x            }
 E                 { x                x                x                       x                  x            }
 S                 { x                x                x                       x                  x            }
 S_Pending_Upgrade { x                x                [M Stored]              [S_Upgrade_Retry]  x            }
 S_Upgrade_Retry   { x                x                x                       x                  x            }
 I                 { x                x                x                       x                  x            }
 I_Get             { [S Fill Loaded]  [E Fill Loaded]  [M Fill Modify Loaded]  [I_Get_Retry]      x            }
 I_Get_Retry       { x                x                x                       x                  x            }
 I_GetX            { x                x                [M Fill Stored]         [I_GetX_Retry]     x            }
 I_GetX_Retry      { x                x                x                       x                  x            }
 I_WB_Writable     { x                x                x                       x                  x            }
 I_WB_Non_Writable { x                x                x                       x                  [I Landed]   };
 on(                 Inval                             CoreFlush               Downgrade)
 M                 { x                                 [I FlushedData Drop]    [S FlushedData Clean]  }
 E                 { x                                 [I Flushed Drop]        [S Flushed]            }
 S                 { [I Flushed Drop]                  x                       x                      }
 S_Pending_Upgrade { [I_GetX Flushed KeepStore]        z                       z                      }
 S_Upgrade_Retry   { [I_GetX_Retry Flushed KeepStore]  x                       x                      }
 I                 { [I Flushed]                       [I Flushed]             [I Flushed]            }
 I_Get             { z                                 z                       z                      }
 I_Get_Retry       { [I_Get_Retry Flushed]             [I_Get_Retry Flushed]   [I_Get_Retry Flushed]  }
 I_GetX            { z                                 z                       z                      }
 I_GetX_Retry      { [I_GetX_Retry Flushed]            [I_GetX_Retry Flushed]  [I_GetX_Retry Flushed] }
 I_WB_Writable     { x                                 [I FlushedData Drop]    [I FlushedData Drop]   }
 I_WB_Non_Writable { x                                 z                       z                      };
 on(                 Modify)
 M                 { [M Found Take]        }
 E                 { [M Found Take Modify] }
 S                 { [S Bring]             }
 S_Pending_Upgrade { z                     }
 S_Upgrade_Retry   { z                     }
 I                 { [I Bring]             }
 I_Get             { z                     }
 I_Get_Retry       { z                     }
 I_GetX            { z                     }
 I_GetX_Retry      { z                     }
 I_WB_Writable     { [M Found Take]        }
 I_WB_Non_Writable { z                     }
}
