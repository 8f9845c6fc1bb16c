public import Foundation
public import MartletCore

/// The format in which Sentry's clients send data: a header and any number of items, each with a header and a payload.
///
/// `Header "\n" (ItemHeader "\n" Payload "\n"?)*`, with headers as JSON objects. A payload has the length that its
/// header gives as `length`; without it, the payload ends with the line (getsentry/develop, "Envelopes").
public struct Envelope: Sendable {
    public struct Item: Sendable {
        public let header: JSONValue
        public let type: String
        public let payload: ArraySlice<UInt8>

        public init(header: JSONValue, type: String, payload: ArraySlice<UInt8>) {
            self.header = header
            self.type = type
            self.payload = payload
        }
    }

    public static let maximumHeaderLength = 8 << 10
    public static let maximumItems = 1_000

    public let header: JSONValue
    public let items: [Item]

    public init(header: JSONValue, items: [Item]) {
        self.header = header
        self.items = items
    }

    /// - Throws: `EnvelopeError`.
    public init(parsing bytes: [UInt8]) throws(EnvelopeError) {
        var reader = EnvelopeReader(bytes)
        header = try reader.takeHeader("header")
        var items: [Item] = []
        while reader.hasMore {
            guard items.count < Self.maximumItems else { throw .tooMany("items", limit: Self.maximumItems) }
            items.append(try reader.takeItem())
        }
        self.items = items
    }

    /// The id of the event that the items belong to; nil if it is missing or invalid.
    public var eventID: UUID? { header["event_id"]?.looseText.flatMap(UUID.init(eventID:)) }

    public var sentAt: Date? { Date(loose: header["sent_at"]) }

    /// The serialized envelope, with the length of each payload.
    public var bytes: [UInt8] {
        var bytes = Array(header.text.utf8)
        bytes.append(Self.lineFeed)
        for item in items {
            let others = item.header.looseMembers.filter { $0.name != "length" && $0.name != "type" }
            let header = JSONValue.object(
                [.init("type", .string(item.type)), .init("length", .number("\(item.payload.count)"))] + others)
            bytes += Array(header.text.utf8)
            bytes.append(Self.lineFeed)
            bytes += item.payload
            bytes.append(Self.lineFeed)
        }
        return bytes
    }

    static let lineFeed = UInt8(ascii: "\n")
}

/// Why an envelope is invalid.
public enum EnvelopeError: Error, Equatable, CustomStringConvertible {
    case missingHeader
    case invalidHeader(String)
    case headerTooLong(String)
    case unexpectedEnd(item: Int)
    case missingNewline(item: Int)
    case missingType(item: Int)
    case tooMany(String, limit: Int)

    public var description: String {
        switch self {
        case .missingHeader: "missing envelope header"
        case .invalidHeader(let which): "invalid \(which): not a JSON object"
        case .headerTooLong(let which): "the \(which) has more than \(Envelope.maximumHeaderLength) bytes"
        case .unexpectedEnd(let item): "unexpected end of file in item \(item)"
        case .missingNewline(let item): "missing newline after the payload of item \(item)"
        case .missingType(let item): "missing type of item \(item)"
        case .tooMany(let what, let limit): "more than \(limit) \(what)"
        }
    }
}

private struct EnvelopeReader {
    private let bytes: [UInt8]
    private var position = 0
    private var itemNumber = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether there are more items. Skips the blank lines that some clients send at the end.
    var hasMore: Bool {
        mutating get {
            while position < bytes.count, bytes[position] == Envelope.lineFeed || bytes[position] == UInt8(ascii: "\r")
            { position += 1 }
            return position < bytes.count
        }
    }

    mutating func takeHeader(_ name: String) throws(EnvelopeError) -> JSONValue {
        guard position < bytes.count else { throw .missingHeader }
        let line = takeLine()
        guard line.count <= Envelope.maximumHeaderLength else { throw .headerTooLong(name) }
        let value: JSONValue
        do throws(JSONError) { value = try LooseJSON.value(line) } catch { throw .invalidHeader(name) }
        guard value.isObject else { throw .invalidHeader(name) }
        return value
    }

    mutating func takeItem() throws(EnvelopeError) -> Envelope.Item {
        itemNumber += 1
        let header = try takeHeader("header of item \(itemNumber)")
        guard case .string(let type) = header["type"] else { throw .missingType(item: itemNumber) }
        guard let length = header["length"]?.looseNumber else {
            return Envelope.Item(header: header, type: type, payload: takeLine())
        }
        guard length >= 0, length <= Double(bytes.count - position) else { throw .unexpectedEnd(item: itemNumber) }
        let payload = bytes[position..<position + Int(length)]
        position += Int(length)
        if position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\r"), bytes[position + 1] == Envelope.lineFeed {
            position += 1
        }
        guard position == bytes.count || bytes[position] == Envelope.lineFeed else {
            throw .missingNewline(item: itemNumber)
        }
        position = min(position + 1, bytes.count)
        return Envelope.Item(header: header, type: type, payload: payload)
    }

    /// The bytes up to the next line feed, which is consumed, or to the end.
    private mutating func takeLine() -> ArraySlice<UInt8> {
        let end = bytes[position...].firstIndex(of: Envelope.lineFeed) ?? bytes.count
        defer { position = min(end + 1, bytes.count) }
        return bytes[position..<end]
    }
}
