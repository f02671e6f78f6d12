protocol::protocol! { door actions(Ring)
 on(    Push        Lock   )
 Open { [Shut]      z    x }
 Shut { [Open Ring] z      }
}

fn main() {}
