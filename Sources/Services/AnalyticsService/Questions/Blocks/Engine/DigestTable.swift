/// Gives numbers from 0 on to persons, in the order in which they come first.
///
/// Persons are digests, so their highest bits are as good a place as any; and of persons in order the places are, too, so that what is next in memory is
/// asked for next.
struct DigestTable {
    private(set) var keys: [UInt64] = []
    /// One more than the number; 0: free.
    private var slots: [UInt32]
    private var shift: UInt64

    init() {
        slots = [UInt32](repeating: 0, count: 1 << 10)
        shift = 64 - 10
    }

    var count: Int { keys.count }

    /// The number of a person; nil: it has none.
    func find(_ key: UInt64) -> UInt32? {
        let number = slots[slot(of: key)]
        return number == 0 ? nil : number - 1
    }

    mutating func number(of key: UInt64) -> UInt32 {
        let slot = slot(of: key)
        guard slots[slot] == 0 else { return slots[slot] - 1 }
        keys.append(key)
        slots[slot] = UInt32(keys.count)
        if keys.count * 2 > slots.count { grow() }
        return UInt32(keys.count - 1)
    }

    /// Where it is, or would be.
    private func slot(of key: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: key &>> shift)
        while slots[slot] != 0, keys[Int(slots[slot]) - 1] != key { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 4)
        shift -= 2
        let mask = slots.count - 1
        for (number, key) in keys.enumerated() {
            var slot = Int(truncatingIfNeeded: key &>> shift)
            while slots[slot] != 0 { slot = (slot + 1) & mask }
            slots[slot] = UInt32(number + 1)
        }
    }
}
