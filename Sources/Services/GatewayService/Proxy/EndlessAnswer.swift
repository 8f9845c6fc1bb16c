import NIOCore

/// Follows an answer that has no end of its own, to know whether it may be ended where it is.
struct EndlessAnswer {
    private let isEventStream: Bool
    private var endsLine = true
    private var endsEvent = true

    init(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer) {
        let type = head.fields.first { bytes[$0.name].spells("content-type") }
        isEventStream = type.map { bytes[$0.value].text.lowercased().hasPrefix("text/event-stream") } ?? false
    }

    /// Whether a field of an event stream may follow: an event that is cut off in the middle must not look complete.
    var isBetweenEvents: Bool { isEventStream && endsEvent }

    mutating func note(_ data: ByteBuffer) {
        guard isEventStream, let last = data.readableBytesView.last else { return }
        let before = data.readableBytes > 1 ? data.getInteger(at: data.writerIndex - 2, as: UInt8.self) == 0x0a : endsLine
        endsLine = last == 0x0a
        endsEvent = endsLine && before
    }
}
