import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct BlockFormatTests {
    @Test func `A block ends after enough events, and at the end of a day`() {
        var plan = BlockPlan(eventsPerBlock: 10, waiting: [1: .init(since: 0, events: 4)])
        plan.add(5, of: 1, until: 110, start: 100)
        plan.add(3, of: 2, until: 110, start: 100)
        plan.add(1, of: 1, until: 120, start: 100)
        plan.add(2, of: 1, until: 130, start: 100)
        #expect(plan.blocks == [.init(space: 1, from: 0, to: 120, events: 10)])
        #expect(plan.waiting == [1: .init(since: 120, events: 2), 2: .init(since: 100, events: 3)])
        plan.endDay(at: 86_400)
        #expect(
            plan.blocks.dropFirst() == [
                .init(space: 1, from: 120, to: 86_400, events: 2), .init(space: 2, from: 100, to: 86_400, events: 3),
            ])
        #expect(plan.waiting.isEmpty)
    }

    @Test(arguments: [[0], [127, 128, 16_384, UInt64.max, 0, 1 << 63]])
    func `Numbers are read as written, and truncation is detected`(_ numbers: [UInt64]) {
        var bytes: [UInt8] = []
        for number in numbers { bytes.appendVarint(number) }
        bytes.withUnsafeBytes { bytes in
            var reader = VarintReader(bytes)
            #expect(numbers.map { _ in reader.next() } == numbers && !reader.isBroken)
            _ = reader.next()
            #expect(reader.isBroken)
        }
    }

    @Test(arguments: [(1, 0), (2, 1), (3, 2), (1_001, 10), (5_000, 13)])
    func `Packed numbers take as many bits as the greatest`(_ values: Int, _ width: Int) {
        let numbers = (0..<300).map { UInt32($0 * 7_919 % values) }
        var bytes: [UInt8] = []
        PackedNumbers.append(numbers, values: values, to: &bytes)
        #expect(PackedNumbers.width(values) == width && bytes.count == (300 * width + 7) / 8 + 4)
        bytes.withUnsafeBytes { bytes in
            let packed = PackedNumbers(bytes, count: 300, values: values)
            #expect((0..<300).map { UInt32(packed?[$0] ?? -1) } == numbers)
            #expect(width == 0 || PackedNumbers(bytes, count: 400, values: values) == nil)
        }
    }
}
