import NIOCore

/// Detects clients that read an answer too slowly and so keep it in a service's memory.
///
/// Measures over windows of time and counts only those in which bytes waited for the client most of the time.
struct ReadingRate {
    private var windowStart: NIODeadline?
    private var bytesAtStart: Int64 = 0
    private var ticks = 0
    private var ticksWaited = 0

    /// - Parameters:
    ///   - isWaiting: Whether bytes wait for the client.
    ///   - bytesTaken: The number of bytes the client has received so far.
    /// - Returns: Whether the client received less than `minimum` bytes per second over a whole `window`; false if
    ///   `minimum` is 0.
    mutating func isTooSlow(
        _ now: NIODeadline, isWaiting: Bool, bytesTaken: Int64, minimum: Int, window: TimeAmount
    ) -> Bool {
        guard minimum > 0 else { return false }
        guard let windowStart else {
            if isWaiting { begin(now, bytesTaken) }
            return false
        }
        ticks += 1
        if isWaiting { ticksWaited += 1 }
        guard now >= windowStart + window else { return false }
        let due = Int64(Double(minimum) * Double(window.nanoseconds) / 1e9)
        if ticksWaited * 2 > ticks, bytesTaken - bytesAtStart < due { return true }
        begin(now, bytesTaken)
        return false
    }

    private mutating func begin(_ now: NIODeadline, _ bytesTaken: Int64) {
        (windowStart, bytesAtStart, ticks, ticksWaited) = (now, bytesTaken, 0, 0)
    }
}
