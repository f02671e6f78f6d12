//! The shared last-level cache with its directory: tables 3.4 and 3.5 of `[giles]`. [`directory`](super::directory)
//! explains its labels.

use crate::protocol;

protocol! {
 /// Tables 3.4 and 3.5.
 l3 actions(Hold HoldAlone HoldAsked HoldAskedAlone Unhold PutS PutClnX PutX Nack Ask AnswerS AnswerClnX AnswerX UpgradeAck Take Ack
  GetFwd GetXFwd GrantAcks UpgradeAcks Inval Count Flush InvalAll Settled SdramLoad SdramStore Fill Drop Land)
 on(                   Fetch                       FetchOwner                  Load                        LoadOwner)
 M                   { [S HoldAlone PutS]          x                           [M_Held HoldAlone PutX]     x                          }
 M_Held              { [M_Pending Ask GetFwd]      [S PutS]                    [M_Pending Ask GetFwd]      [M_Held PutX]              }
 M_Pending           { [M_Pending Nack]            [M_Pending Nack]            [M_Pending Nack]            [M_Pending Nack]           }
 M_Inval             { [M_Inval Nack]              x                           [M_Inval Nack]              x                          }
 E_Held              { [E_Pending Ask GetFwd]      [S PutS]                    [E_Pending Ask GetFwd]      [E_Held PutClnX]           }
 E_Pending           { [E_Pending Nack]            [E_Pending Nack]            [E_Pending Nack]            [E_Pending Nack]           }
 S                   { [S Hold PutS]               [S PutS]                    [S Hold PutS]               [S PutS]                   }
 I                   { [I_Fetch Ask SdramLoad]     x                           [I_Load Ask SdramLoad]      x                          }
 I_Fetch             { z                           x                           z                           x                          }
 I_Load              { z                           x                           z                           x                          }
 I_Store             { z                           x                           z                           x                          }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack] }
 I_WB_Writable       { [S HoldAlone PutS]          x                           [M_Held HoldAlone PutX]     x                          }
 I_WB_Non_Writable   { z                           x                           z                           x                          };
 on(                   Upgrade                                UpgradeOwner                Store                                StoreOwner)
 M                   { x                                      x                           [M_Held HoldAlone PutX]              x                          }
 M_Held              { x                                      x                           [M_Pending Ask GetXFwd]              [M_Held PutX]              }
 M_Pending           { [M_Pending Nack]                       [M_Pending Nack]            [M_Pending Nack]                     [M_Pending Nack]           }
 M_Inval             { [M_Inval Nack]                         x                           [M_Inval Nack]                       x                          }
 E_Held              { x                                      x                           [E_Pending Ask GetXFwd]              [M_Held PutX]              }
 E_Pending           { [E_Pending Nack]                       [E_Pending Nack]            [E_Pending Nack]                     [E_Pending Nack]           }
 S                   { [M_Inval UpgradeAcks Inval HoldAlone]  [M_Held UpgradeAck]         [M_Inval GrantAcks Inval HoldAlone]  [M_Held PutX]              }
 I                   { x                                      x                           [I_Store Ask SdramLoad]              x                          }
 I_Fetch             { x                                      x                           z                                    x                          }
 I_Load              { x                                      x                           z                                    x                          }
 I_Store             { x                                      x                           z                                    x                          }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Nack]             [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack]           [I_WB_Flush_Conflict Nack] }
 I_WB_Writable       { x                                      x                           [M_Held HoldAlone PutX]              x                          }
 I_WB_Non_Writable   { x                                      x                           z                                    x                          };
 on(                   WriteBack                       FwdAck                      FwdAckX                          FwdNack                     FwdNackX)
 M                   { x                               x                           x                                x                           x                               }
 M_Held              { [M Take Unhold Ack]             x                           x                                x                           x                               }
 M_Pending           { [M_Pending Take Ack]            [S Take HoldAsked Settled]  [M_Held HoldAskedAlone Settled]  [S HoldAskedAlone AnswerS]  [M_Held HoldAskedAlone AnswerX] }
 M_Inval             { z                               x                           x                                x                           x                               }
 E_Held              { [M Take Unhold Ack]             x                           x                                x                           x                               }
 E_Pending           { [M_Pending Take Ack]            [S Take HoldAsked Settled]  [M_Held HoldAskedAlone Settled]  [S HoldAskedAlone AnswerS]  [M_Held HoldAskedAlone AnswerX] }
 S                   { x                               x                           x                                x                           x                               }
 I                   { x                               x                           x                                x                           x                               }
 I_Fetch             { x                               x                           x                                x                           x                               }
 I_Load              { x                               x                           x                                x                           x                               }
 I_Store             { x                               x                           x                                x                           x                               }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Take Ack]  x                           x                                x                           x                               }
 I_WB_Writable       { x                               x                           x                                x                           x                               }
 I_WB_Non_Writable   { x                               x                           x                                x                           x                               };
 on(                   InvAck           InvAckLast      Evict                           Drain)
 M                   { x                x               [I_WB_Writable]                 x                                   }
 M_Held              { x                x               [I_WB_Flush_Conflict Flush]     x                                   }
 M_Pending           { x                x               z                               x                                   }
 M_Inval             { [M_Inval Count]  [M_Held Count]  z                               x                                   }
 E_Held              { x                x               [I_WB_Flush_Conflict Flush]     x                                   }
 E_Pending           { x                x               z                               x                                   }
 S                   { x                x               [I_WB_Flush_Conflict InvalAll]  x                                   }
 I                   { x                x               x                               x                                   }
 I_Fetch             { x                x               z                               x                                   }
 I_Load              { x                x               z                               x                                   }
 I_Store             { x                x               z                               x                                   }
 I_WB_Flush_Conflict { x                x               z                               x                                   }
 I_WB_Writable       { x                x               x                               [I_WB_Non_Writable SdramStore Drop] }
 I_WB_Non_Writable   { x                x               z                               x                                   };
 on(                   Flushed                      FlushedClean           FlushedDirty                       Data                                     Landed)
 M                   { x                            x                      x                                  x                                        x         }
 M_Held              { x                            x                      x                                  x                                        x         }
 M_Pending           { x                            x                      x                                  x                                        x         }
 M_Inval             { x                            x                      x                                  x                                        x         }
 E_Held              { x                            x                      x                                  x                                        x         }
 E_Pending           { x                            x                      x                                  x                                        x         }
 S                   { x                            x                      x                                  x                                        x         }
 I                   { x                            x                      x                                  x                                        x         }
 I_Fetch             { x                            x                      x                                  [S Fill HoldAskedAlone AnswerS]          x         }
 I_Load              { x                            x                      x                                  [E_Held Fill HoldAskedAlone AnswerClnX]  x         }
 I_Store             { x                            x                      x                                  [M_Held Fill HoldAskedAlone AnswerX]     x         }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Count]  [I Count Unhold Drop]  [I_WB_Writable Take Count Unhold]  x                                        x         }
 I_WB_Writable       { x                            x                      x                                  x                                        x         }
 I_WB_Non_Writable   { x                            x                      x                                  x                                        [I Count] }
}
