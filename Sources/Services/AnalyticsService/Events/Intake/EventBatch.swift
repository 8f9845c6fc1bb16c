import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The messages of one request: those that are taken, and what is wrong with the others.
struct EventBatch: Sendable {
    /// More do not fit into what Segment's clients send at once, 500 kB.
    static let maximumMessages = 4_000

    struct Rejection: Encodable, Sendable, Equatable {
        /// Its place in the batch, from 0.
        var index: Int
        var field: String?
        var reason: String
    }

    var events: [IncomingEvent] = []
    /// How many are good, whether they are stored or not: some persons are not counted.
    var accepted = 0
    var rejected: [Rejection] = []

    init() {}

    /// `{"batch":[…],"sentAt"}`
    ///
    /// - Throws: `invalid-json`, `invalid-body`, `limit-exceeded`.
    init(_ body: [UInt8], _ origin: EventReader.Origin) throws {
        try Self.read(body) { _, fields in
            guard let batch = fields.text("batch") else {
                throw HTTPProblem(.invalidBody, "This field is required.", field: "batch")
            }
            guard batch.first == UInt8(ascii: "[") else {
                throw HTTPProblem(.invalidBody, "This must be an array.", field: "batch")
            }
            let messages = try Self.messages(batch)
            var reader = EventReader(origin, sentAt: try? fields.string("sentAt", upTo: 64).flatMap(EventTime.date))
            events.reserveCapacity(messages.count)
            for (index, range) in messages.enumerated() {
                try take(&reader, UnsafeBufferPointer(rebasing: batch[range]), nil, at: index)
            }
        }
    }

    private static func messages(_ batch: UnsafeBufferPointer<UInt8>) throws -> [Range<Int>] {
        do throws(JSONError) {
            return try JSONText.values(of: batch, maximum: maximumMessages)
        } catch {
            // It was read before, so there is nothing else that can be wrong with it.
            throw HTTPProblem(.limitExceeded, "A batch may have at most \(maximumMessages) messages.", field: "batch")
        }
    }

    /// One message alone.
    ///
    /// - Throws: `invalid-json`, `invalid-body`.
    init(message body: [UInt8], _ kind: EventKind, _ origin: EventReader.Origin) throws {
        try Self.read(body) { bytes, fields in
            var reader = EventReader(origin, sentAt: try? fields.string("sentAt", upTo: 64).flatMap(EventTime.date))
            try take(&reader, bytes, kind, at: 0)
        }
        if let fault = rejected.first { throw HTTPProblem(.invalidBody, fault.reason, field: fault.field) }
    }

    private mutating func take(
        _ reader: inout EventReader, _ bytes: UnsafeBufferPointer<UInt8>, _ kind: EventKind?, at index: Int
    ) throws {
        do {
            if let event = try reader.event(bytes, kind) { events.append(event) }
            accepted += 1
        } catch let fault as EventFault {
            rejected.append(Rejection(index: index, field: fault.field, reason: fault.reason))
        }
    }

    /// Text that only a damaged character or two keep from being JSON is taken with those replaced: a phone would lose
    /// all that it has collected.
    private static func read(_ body: [UInt8], _ act: (UnsafeBufferPointer<UInt8>, MessageFields) throws -> Void) throws
    {
        guard let error = try attempt(body, act) else { return }
        let mended = MendedText.bytes(of: body)
        if mended != body, try attempt(mended, act) == nil { return }
        throw HTTPProblem(error)
    }

    /// What keeps it from being an object; nil: `act` was done.
    private static func attempt(_ body: [UInt8], _ act: (UnsafeBufferPointer<UInt8>, MessageFields) throws -> Void)
        throws -> JSONError?
    {
        try body.withUnsafeBufferPointer { bytes -> JSONError? in
            let fields: MessageFields
            do throws(JSONError) {
                fields = try MessageFields(bytes)
            } catch {
                return error
            }
            try act(bytes, fields)
            return nil
        }
    }
}
