protocol::protocol! { door actions(Ring)
 on(    Push        Lock   )
 Open { [Shut]      z      }
 Shut { [Open Ring]        }
}

fn main() {}
