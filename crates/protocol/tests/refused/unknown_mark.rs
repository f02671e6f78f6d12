protocol::protocol! { door actions(Ring)
 on(    Push        Lock )
 Open { [Shut]      y    }
 Shut { [Open Ring] z    }
}

fn main() {}
