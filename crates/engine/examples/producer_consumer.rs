//! A producer, a consumer and a buffer between them: the smallest model that shows what the engine does.
//!
//! Run it with `cargo run --release -p cohesim-engine --example producer_consumer`.

use engine::{Context, Counter, Hertz, Histogram, Model, Queue, RunOptions};

/// The producer makes an item every 3 cycles, on average, and hands it to the buffer.
async fn producer(buffer: Queue<u64>, items: u64, cx: Context) {
    for item in 0..items {
        // Making an item takes time. While the producer pauses it is busy and does nothing else. Every fourth item
        // takes 0 cycles, the others take 4.
        cx.pause(if item.is_multiple_of(4) { 0 } else { 4 }).await;
        // Stamp the item with the current cycle and hand it over. If the buffer is full the producer waits here until
        // the consumer has freed space: that is back-pressure, and it needs no code of its own.
        let made = cx.now().0;
        buffer.send(made).await;
    }
    // The function returns: the context has ended.
}

/// The consumer takes items from the buffer forever, one every 3 cycles at most.
async fn consumer(buffer: Queue<u64>, consumed: Counter, age: Histogram, cx: Context) {
    loop {
        // Wait for an item. A consumer that waits is idle, not busy: the engine counts both.
        let made = buffer.recv().await;
        // How long the item was in the buffer, as a statistic.
        age.record(cx.now().0 - made);
        // Using the item takes 3 cycles.
        cx.pause(3).await;
        consumed.increment();
    }
}

fn main() {
    let mut model = Model::new();
    // Everything here uses one clock of 1 GHz; a model can have many clocks.
    let clock = model.clock(Hertz::giga(1));
    // A model consists of partitions, which threads can run in parallel. This one has a single partition. The closure
    // builds it: it makes the elements, wires them, and starts their contexts.
    model.partition(move |partition| {
        // Names form a tree. Everything below is called `factory.something` in the statistics.
        let factory = partition.scope(clock).scope("factory");
        // The buffer holds at most 2 items.
        let buffer = factory.queue("buffer", 2);
        // Statistics are made where they belong in the tree.
        let (consumed, age) = (factory.counter("consumed"), factory.histogram("age_cycles"));
        // The producer is expected to end: if it got stuck, the run would end with a report of the waits.
        let outgoing = buffer.clone();
        factory.spawn("producer", |cx| producer(outgoing, 1_000, cx));
        // The consumer serves forever: it may still wait when everything else is done.
        factory.serve("consumer", |cx| consumer(buffer, consumed, age, cx));
    });
    // Run until nothing is left to do.
    let run = model.run(&RunOptions::default());
    println!("{} after {}", run.outcome, run.end);
    // Some of these statistics were not mentioned above: the engine keeps them for every context and queue.
    for (path, value) in run.total().0 {
        println!("{path:32} {value:?}");
    }
}
