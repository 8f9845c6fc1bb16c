import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

@Suite struct FractionalKeyTests {
    private static func key(_ text: String) throws -> FractionalKey { try #require(FractionalKey(text)) }

    @Test func `keys stay in the order of the list, wherever elements are inserted`() throws {
        for seed in 0..<20 {
            var random = SeededGenerator(state: UInt64(seed))
            var row: [FractionalKey] = []
            for _ in 0..<400 {
                // Often at the same few places, like people do.
                let place = [0, row.count, row.count / 2, Int.random(in: 0...row.count, using: &random)][
                    Int.random(in: 0..<4, using: &random)]
                let key = FractionalKey.between(place > 0 ? row[place - 1] : nil, place < row.count ? row[place] : nil)
                row.insert(try #require(key), at: place)
            }
            #expect(zip(row, row.dropFirst()).allSatisfy { $0 < $1 } && Set(row).count == row.count)
            #expect(row.allSatisfy { FractionalKey($0.text) == $0 })
        }
    }

    @Test func `a list that grows at one end has short keys`() throws {
        var (low, high) = (FractionalKey.first, FractionalKey.first)
        for _ in 0..<10_000 {
            let (lower, higher) = (
                try #require(FractionalKey.between(nil, low)), try #require(FractionalKey.between(high, nil))
            )
            #expect(lower < low && high < higher)
            (low, high) = (lower, higher)
        }
        #expect(low.text.utf8.count <= 4 && high.text.utf8.count <= 4, "\(low) \(high)")
    }

    @Test func `repeatedly dividing a gap lengthens keys by one character per five insertions at most`() throws {
        for isUpper in [true, false] {
            var (low, high) = (FractionalKey.first, try #require(FractionalKey.between(.first, nil)))
            for count in 1...200 {
                let key = try #require(FractionalKey.between(low, high))
                #expect(low < key && key < high && key.text.utf8.count <= 3 + count / 5)
                if isUpper { low = key } else { high = key }
            }
        }
    }

    @Test(arguments: [
        ("a0", "a1", "a0V"), ("a0", "a0V", "a0G"), ("a0V", "a1", "a0l"), ("Zz", "a0", "ZzV"), ("Zz", "a1", "a0"),
        ("az", "b01", "b00"), ("a0", "a0001", "a0000V"),
    ])
    func `keys between two others are those of the published scheme`(low: String, high: String, middle: String) throws {
        let (low, high) = (try Self.key(low), try Self.key(high))
        #expect(FractionalKey.between(low, high)?.text == middle)
    }

    @Test func `keys at the ends continue with the next length`() throws {
        for (key, next) in [("az", "b00"), ("bzz", "c000"), ("Zz", "a0"), ("Yzz", "Z0"), ("a0V", "a1")] {
            let key = try Self.key(key)
            #expect(FractionalKey.between(key, nil)?.text == next)
        }
        for (key, former) in [("a0", "Zz"), ("b00", "az"), ("Z0", "Yzz"), ("a0V", "a0")] {
            let key = try Self.key(key)
            #expect(FractionalKey.between(nil, key)?.text == former)
        }
    }

    @Test func `there is no key between equal, reversed or extreme bounds`() throws {
        let (low, high, least) = (
            try Self.key("a1"), try Self.key("a2"), try Self.key("A" + String(repeating: "0", count: 26))
        )
        #expect(FractionalKey.between(low, low) == nil && FractionalKey.between(high, low) == nil)
        #expect(FractionalKey.between(nil, least) == nil)
    }

    @Test(arguments: ["", "a", "a00", "b0", "0", "a0!", "a1 ", "ä0", "a10"])
    func `an invalid key is refused`(text: String) {
        #expect(FractionalKey(text) == nil)
    }

    @Test(arguments: [0, 1, 62, 63, 3_907, 5_000]) func `keys for a whole list are ordered and short`(count: Int) {
        let keys = FractionalKey.keys(count: count)
        #expect(
            keys.count == count && zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
                && keys.allSatisfy { $0.text.utf8.count <= 4 })
    }
}
