/// Numbers persons from 0, in the order in which they are first seen.
///
/// An open-addressed hash table. Persons are digests, so their highest bits serve as the hash. Inserting persons in
/// ascending order also visits the slots in ascending order, which makes good use of the CPU's caches.
struct DigestTable {
    private struct Slot {
        var key: UInt64 = 0
        /// One more than the person's number; 0 marks a free slot.
        var number: UInt32 = 0
    }

    private(set) var count = 0
    private var slots: [Slot]
    private var shift: UInt64

    init() {
        slots = [Slot](repeating: Slot(), count: 1 << 10)
        shift = 64 - 10
    }

    /// The number of a person; nil if it has none.
    func find(_ key: UInt64) -> UInt32? {
        let number = slots[slot(of: key)].number
        return number == 0 ? nil : number - 1
    }

    mutating func number(of key: UInt64) -> UInt32 {
        let slot = slot(of: key)
        guard slots[slot].number == 0 else { return slots[slot].number - 1 }
        count += 1
        slots[slot] = Slot(key: key, number: UInt32(count))
        if count * 2 > slots.count { grow() }
        return UInt32(count - 1)
    }

    /// The slot that holds the key, or the free one where it belongs.
    @inline(__always)
    private func slot(of key: UInt64) -> Int {
        slots.withUnsafeBufferPointer { slots in
            let mask = slots.count &- 1
            var slot = Int(truncatingIfNeeded: key &>> shift)
            while slots[slot].number != 0, slots[slot].key != key { slot = (slot &+ 1) & mask }
            return slot
        }
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 4)
        shift -= 2
        for entry in old where entry.number != 0 { slots[slot(of: entry.key)] = entry }
    }
}
