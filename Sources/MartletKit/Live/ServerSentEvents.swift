import Foundation

/// Parses server-sent events (HTML standard §9.2.6) from pieces of a body.
struct ServerSentEvents {
    struct Event: Equatable {
        /// The event's name; `message` if the server sends none.
        var name = "message"
        /// Nil for a block without data, which only changes `id`.
        var data: String?
        /// The latest id received.
        var id: String?
        /// How long to wait before reconnecting, in seconds, if the server said so in this block.
        var retry: TimeInterval?
    }

    static let maximumEventSize = 16 << 20

    private var line: [UInt8] = []
    private var lastWasCarriageReturn = false
    private var isFirstLine = true
    private var size = 0
    private var name: String?
    private var data: [String] = []
    private var id: String?
    private var retry: TimeInterval?
    private var hasFields = false

    /// - Throws: If an event is too large.
    mutating func parse(_ piece: Data) throws -> [Event] {
        var events: [Event] = []
        for byte in piece {
            defer { lastWasCarriageReturn = byte == 0x0D }
            if byte == 0x0A, lastWasCarriageReturn { continue }
            guard byte == 0x0A || byte == 0x0D else {
                line.append(byte)
                size += 1
                guard size <= Self.maximumEventSize else {
                    throw MartletError(.unexpectedAnswer, "An event is larger than \(Self.maximumEventSize) bytes.")
                }
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        var text = String(decoding: line, as: UTF8.self)
        line.removeAll(keepingCapacity: true)
        if isFirstLine, text.hasPrefix("\u{FEFF}") { text.removeFirst() }
        isFirstLine = false
        guard text.isEmpty else {
            read(text)
            return nil
        }
        defer { (name, data, retry, hasFields, size) = (nil, [], nil, false, 0) }
        guard hasFields else { return nil }
        return Event(
            name: name ?? "message", data: data.isEmpty ? nil : data.joined(separator: "\n"), id: id, retry: retry)
    }

    private mutating func read(_ line: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let field = parts.first, !field.isEmpty else { return }
        var value = parts.count == 2 ? parts[1] : ""
        if value.hasPrefix(" ") { value.removeFirst() }
        hasFields = true
        switch field {
        case "event": name = String(value)
        case "data": data.append(String(value))
        case "id": if !value.contains("\0") { id = String(value) }
        case "retry": retry = UInt32(value).map { TimeInterval($0) / 1_000 }
        default: break
        }
    }
}
