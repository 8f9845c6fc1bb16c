/// A buffer for the numbers of a part, reused for each part in turn.
final class Scratch<Number: FixedWidthInteger> {
    private(set) var numbers: UnsafeMutablePointer<Number>
    private var capacity = 0

    init() {
        numbers = .allocate(capacity: 1)
        numbers.initialize(to: 0)
        capacity = 1
    }

    deinit { numbers.deallocate() }

    /// Returns uninitialized room for `count` numbers. Discards the previous content.
    func room(for count: Int) -> UnsafeMutablePointer<Number> {
        guard count > capacity else { return numbers }
        numbers.deallocate()
        capacity = max(count, capacity * 2)
        numbers = .allocate(capacity: capacity)
        numbers.initialize(repeating: 0, count: capacity)
        return numbers
    }
}
