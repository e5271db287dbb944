//! A bounded ring between one producing and one consuming thread, without locks.
//!
//! [`ring`] returns its two ends. Each is `Send` but not `Clone`, and moving an
//! item takes `&mut self`, so that "one producer, one consumer" is a matter of
//! types and not of discipline. The idea is Lamport's (1983): each end owns one
//! of two ever-growing indices, and an item belongs to the producer until
//! `tail` has passed it and to the consumer from then until `head` has. Each
//! end also keeps a copy of the other's index and looks at the shared one only
//! when the copy says "full" or "empty", so that in steady flow most calls
//! touch no cache line that the other thread writes.
//!
//! | field | written by | read by | ordering | pairs with |
//! |---|---|---|---|---|
//! | `tail` | producer, after it filled a slot | consumer, before it empties one | store Release, load Acquire | that load sees the slot's contents |
//! | `head` | consumer, after it emptied a slot | producer, before it fills one | store Release, load Acquire | that load sees the slot vacated |
//! | `tail`, `head` | as above | `len`, `is_empty`, `is_full` | load Relaxed | nothing: an item is moved only after an Acquire load of its own |
//! | `closed` | whichever end is dropped first | the other end | store Release, load Acquire | that load sees all that the dropped end did |
//! | `slots[i]` | producer while `i` is in `tail..head + capacity`, consumer (moving out) while in `head..tail` | the same | not atomic | the first two rows |
//! | `tail`, `head`, slots | | the drop of the last end | Relaxed | the reference count of the `Arc`, whose drop is Acquire |
//!
//! Invariants: `head <= tail <= head + capacity`, counted without wrapping;
//! exactly the slots `head..tail` hold a value. Indices wrap around at
//! `usize::MAX`, which a number of slots that is a power of two makes harmless.
//!
//! The ring never blocks, never allocates after it was made, and knows nothing
//! of who waits for it; see [`stop`](super::stop) for waiting.

use super::primitives::{Arc, AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crossbeam::utils::CachePadded;
use std::fmt;
use std::mem::MaybeUninit;

/// Makes a ring that holds up to `capacity` items, and returns its two ends.
///
/// The capacity is exact; a capacity of 0, with which nothing could ever be
/// pushed, is taken as 1. What is still inside when both ends are gone is
/// dropped with them.
///
/// ```
/// let (mut producer, mut consumer) = panza_sync::ring(2);
/// assert_eq!(producer.push('a'), Ok(()));
/// assert_eq!(producer.push('b'), Ok(()));
/// assert_eq!(producer.push('c'), Err('c'));
/// assert_eq!(consumer.pop(), Some('a'));
/// ```
///
/// Neither end can be cloned, and items that must stay on their thread are
/// refused:
///
/// ```compile_fail,E0599
/// let (producer, _consumer) = crate::ring::ring::<u32>(2);
/// let _second = producer.clone();
/// ```
///
/// ```compile_fail,E0277
/// let (producer, _consumer) = crate::ring::ring::<std::rc::Rc<u32>>(2);
/// std::thread::spawn(move || drop(producer));
/// ```
///
/// # Panics
///
/// When the memory for `capacity` items cannot be had.
pub fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let capacity = capacity.max(1);
    let slots = (0..capacity.next_power_of_two())
        .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
        .collect();
    let shared = Arc::new(Shared {
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
        closed: AtomicBool::new(false),
        capacity,
        slots,
    });
    let producer = Producer {
        shared: Arc::clone(&shared),
        tail: 0,
        known_head: 0,
    };
    let consumer = Consumer {
        shared,
        head: 0,
        known_tail: 0,
    };
    (producer, consumer)
}

/// The end of a ring that puts items in. Held by one thread at a time.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    /// The same value as `shared.tail`, which only this end writes.
    tail: usize,
    /// `shared.head` as last seen: never ahead of it, so the room computed from
    /// it is never more than there is.
    known_head: usize,
}

/// The end of a ring that takes items out. Held by one thread at a time.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    /// The same value as `shared.head`, which only this end writes.
    head: usize,
    /// `shared.tail` as last seen: never ahead of it, so the items computed from
    /// it are never more than there are.
    known_tail: usize,
}

impl<T> Producer<T> {
    /// Puts `value` in, or hands it back when the ring is full.
    ///
    /// A closed ring still takes items until it is full; ask
    /// [`is_closed`](Producer::is_closed) to notice that nobody will fetch them.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let capacity = self.shared.capacity;
        if self.tail.wrapping_sub(self.known_head) >= capacity {
            // Pairs with the Release store in `Consumer::pop`.
            self.known_head = self.shared.head.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.known_head) >= capacity {
                return Err(value);
            }
        }
        self.shared.slot(self.tail).with_mut(|slot| {
            // SAFETY: `known_head <= head`, so `tail - head < capacity` and slot
            // `tail` is outside `head..tail`: the consumer does not touch it
            // until `tail` is stored below. Its last content was moved out
            // before the `head` that we acquired was stored. `&mut self` keeps
            // any other producer away.
            unsafe { (*slot).write(value) };
        });
        self.tail = self.tail.wrapping_add(1);
        // Publishes the slot; pairs with the Acquire load in `Consumer::pop`.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// How many items are inside. By the time the caller looks, the consumer
    /// may have taken some: it is an upper bound.
    pub fn len(&self) -> usize {
        self.tail
            .wrapping_sub(self.shared.head.load(Ordering::Relaxed))
    }

    /// Whether nothing is inside. Stays true until this end pushes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a push would fail now. Once false it stays so until this end pushes.
    pub fn is_full(&self) -> bool {
        self.len() >= self.shared.capacity
    }

    /// How many items the ring can hold.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether the consumer was dropped, so that nothing pushed from now on is
    /// ever popped.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl<T> Consumer<T> {
    /// Takes out the item that was pushed first, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.known_tail {
            // Pairs with the Release store in `Producer::push`.
            self.known_tail = self.shared.tail.load(Ordering::Acquire);
            if self.head == self.known_tail {
                return None;
            }
        }
        let value = self.shared.slot(self.head).with(|slot| {
            // SAFETY: `head < known_tail <= tail`, so slot `head` was filled
            // before the `tail` that we acquired was stored, and the producer
            // leaves it alone until `head` is stored below. It is read out
            // once: `head` moves on, and `&mut self` keeps others away.
            unsafe { (*slot).assume_init_read() }
        });
        self.head = self.head.wrapping_add(1);
        // Hands the slot back; pairs with the Acquire load in `Producer::push`.
        self.shared.head.store(self.head, Ordering::Release);
        Some(value)
    }

    /// How many items are inside. By the time the caller looks, the producer
    /// may have added some: it is a lower bound, and that many pops succeed.
    pub fn len(&self) -> usize {
        self.shared
            .tail
            .load(Ordering::Relaxed)
            .wrapping_sub(self.head)
    }

    /// Whether a pop would find nothing now. Once false it stays so until this
    /// end pops.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the ring can hold.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether the producer was dropped. Items may still be inside: once this
    /// is true, the ring is drained when a *later* pop returns `None`.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // Pairs with the Acquire load in `Consumer::is_closed`.
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        // Pairs with the Acquire load in `Producer::is_closed`.
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Producer({} of {})", self.len(), self.capacity())
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Consumer({} of {})", self.len(), self.capacity())
    }
}

/// What the two ends have in common. The padding keeps the two indices, each
/// written by another thread, on cache lines of their own.
struct Shared<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    /// Set by the end that is dropped first (and again, unread, by the second).
    closed: AtomicBool,
    /// How many slots may be in use, at most `slots.len()`.
    capacity: usize,
    /// A power of two of them, so that an index wraps to its slot by a mask.
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a value is written by one thread and moved out by another, which asks
// for `T: Send` and never lends a `&T` to two threads. Who may touch which slot
// when is the table at the top.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    #[inline]
    fn slot(&self, index: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[index & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        while head != tail {
            self.slot(head).with_mut(|slot| {
                // SAFETY: both ends are gone (`&mut self`), and exactly the
                // slots `head..tail` hold a value; each is dropped once.
                unsafe { (*slot).assume_init_drop() };
            });
            head = head.wrapping_add(1);
        }
    }
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize as Count;
    use std::thread;

    /// Adds one to its counter when dropped.
    struct Counted<'a>(&'a Count);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn items_come_out_in_the_order_they_went_in() {
        let (mut producer, mut consumer) = ring(4);
        assert_eq!(consumer.pop(), None);
        assert_eq!(producer.push(1), Ok(()));
        assert_eq!(producer.push(2), Ok(()));
        assert_eq!(consumer.pop(), Some(1));
        assert_eq!(producer.push(3), Ok(()));
        assert_eq!(consumer.pop(), Some(2));
        assert_eq!(consumer.pop(), Some(3));
        assert_eq!(consumer.pop(), None);
    }

    #[test]
    fn the_capacity_is_exact_whether_or_not_a_power_of_two() {
        for capacity in [1, 2, 3, 5, 8, 13] {
            let (mut producer, mut consumer) = ring(capacity);
            assert_eq!(producer.capacity(), capacity);
            assert_eq!(consumer.capacity(), capacity);
            for item in 0..capacity {
                assert!(!producer.is_full());
                assert_eq!(producer.push(item), Ok(()));
                assert_eq!((producer.len(), consumer.len()), (item + 1, item + 1));
            }
            assert!(producer.is_full());
            assert_eq!(producer.push(99), Err(99));
            assert_eq!(consumer.pop(), Some(0));
            assert_eq!(producer.push(99), Ok(()));
            assert_eq!(producer.push(100), Err(100));
        }
    }

    #[test]
    fn a_capacity_of_zero_is_taken_as_one() {
        let (mut producer, consumer) = ring(0);
        assert_eq!(consumer.capacity(), 1);
        assert_eq!(producer.push(7), Ok(()));
        assert_eq!(producer.push(8), Err(8));
    }

    #[test]
    fn it_goes_round_many_times_at_every_fill_level() {
        let (mut producer, mut consumer) = ring(3);
        let (mut pushed, mut popped) = (0_u32, 0_u32);
        for round in 0..100 {
            for _ in 0..=(round % 3) {
                assert_eq!(producer.push(pushed), Ok(()));
                pushed += 1;
            }
            while let Some(item) = consumer.pop() {
                assert_eq!(item, popped);
                popped += 1;
            }
        }
        assert_eq!(pushed, popped);
        assert!(producer.is_empty() && consumer.is_empty());
    }

    #[test]
    fn indices_may_overflow() {
        let (mut producer, mut consumer) = ring(3);
        let start = usize::MAX - 1;
        producer.shared.head.store(start, Ordering::Relaxed);
        producer.shared.tail.store(start, Ordering::Relaxed);
        (producer.tail, producer.known_head) = (start, start);
        (consumer.head, consumer.known_tail) = (start, start);
        for round in 0..5 {
            for item in 0..3 {
                assert_eq!(producer.push(10 * round + item), Ok(()));
            }
            assert_eq!((producer.len(), consumer.len()), (3, 3));
            assert_eq!(producer.push(99), Err(99));
            for item in 0..3 {
                assert_eq!(consumer.pop(), Some(10 * round + item));
            }
            assert_eq!(consumer.pop(), None);
        }
        assert!(consumer.head < start);
    }

    #[test]
    fn every_item_is_dropped_once_popped_or_not() {
        let drops = Count::new(0);
        let (mut producer, mut consumer) = ring(5);
        for _ in 0..4 {
            assert!(producer.push(Counted(&drops)).is_ok());
        }
        drop(consumer.pop());
        drop(consumer.pop());
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        for _ in 0..2 {
            assert!(producer.push(Counted(&drops)).is_ok());
        }
        drop(consumer);
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        drop(producer);
        assert_eq!(drops.load(Ordering::Relaxed), 6);
    }

    #[test]
    fn each_end_sees_the_other_go() {
        let (producer, consumer) = ring::<u8>(1);
        assert!(!producer.is_closed() && !consumer.is_closed());
        drop(consumer);
        assert!(producer.is_closed());

        let (mut producer, mut consumer) = ring(1);
        assert_eq!(producer.push(5), Ok(()));
        drop(producer);
        assert!(consumer.is_closed());
        assert_eq!(consumer.pop(), Some(5));
        assert_eq!(consumer.pop(), None);
    }

    #[test]
    fn items_without_size_are_counted_too() {
        let (mut producer, mut consumer) = ring(2);
        assert_eq!(producer.push(()), Ok(()));
        assert_eq!(producer.push(()), Ok(()));
        assert_eq!(producer.push(()), Err(()));
        assert_eq!(consumer.pop(), Some(()));
        assert_eq!(consumer.len(), 1);
    }

    #[test]
    fn two_threads_move_everything_in_order_and_lose_nothing() {
        // A full or empty ring waits for the other thread, which takes a time slice on busy cores.
        let times_full = if cfg!(miri) { 3 } else { 5_000 };
        for capacity in [1, 7, 64] {
            let items = times_full * capacity as u64;
            let (mut producer, mut consumer) = ring(capacity);
            let sender = thread::spawn(move || {
                for item in 0..items {
                    // A box, so that a slot read twice or never is a memory error.
                    let mut boxed = Box::new(item);
                    while let Err(back) = producer.push(boxed) {
                        boxed = back;
                        thread::yield_now();
                    }
                }
            });
            let (mut expected, mut sum) = (0, 0);
            loop {
                let closed = consumer.is_closed();
                while let Some(item) = consumer.pop() {
                    assert_eq!(*item, expected);
                    expected += 1;
                    sum += *item;
                }
                if closed {
                    break;
                }
                thread::yield_now();
            }
            sender.join().unwrap();
            assert_eq!(expected, items);
            assert_eq!(sum, items * (items - 1) / 2);
        }
    }
}
