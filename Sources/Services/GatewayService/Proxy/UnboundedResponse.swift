import NIOCore

/// Tracks a response of unbounded length, to decide whether it can be ended at the current position.
struct UnboundedResponse {
    private let isEventStream: Bool
    private var endsLine = true
    private var endsEvent = true

    init(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer) {
        let type = head.fields.first { bytes[$0.name].spells("content-type") }
        isEventStream = type.map { bytes[$0.value].text.lowercased().hasPrefix("text/event-stream") } ?? false
    }

    /// Whether a field may be appended to the event stream. An event that was cut off must not appear complete.
    var isBetweenEvents: Bool { isEventStream && endsEvent }

    mutating func record(_ data: ByteBuffer) {
        guard isEventStream, let last = data.readableBytesView.last else { return }
        let before =
            data.readableBytes > 1 ? data.getInteger(at: data.writerIndex - 2, as: UInt8.self) == 0x0a : endsLine
        endsLine = last == 0x0a
        endsEvent = endsLine && before
    }
}
