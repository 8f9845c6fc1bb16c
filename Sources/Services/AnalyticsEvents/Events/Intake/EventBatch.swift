import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The messages of one request: the accepted events, and the reasons for rejecting the others.
struct EventBatch: Sendable {
    /// The maximum number of messages in a batch. More do not fit into the 500 kB that Segment's clients send at once.
    static let maximumMessages = 4_000

    struct Rejection: Encodable, Sendable, Equatable {
        /// The index in the batch, from 0.
        var index: Int
        var field: String?
        var reason: String
    }

    var events: [IncomingEvent] = []
    /// Number of valid messages, including those that are not stored because the person has opted out.
    var accepted = 0
    var rejected: [Rejection] = []

    init() {}

    /// Reads `{"batch":[…],"sentAt"}`.
    ///
    /// - Throws: `invalid-json`, `invalid-body`, `limit-exceeded`.
    init(_ body: [UInt8], _ origin: EventReader.Origin) throws {
        try Self.read(body) { _, fields in
            guard let batch = fields.text("batch") else {
                throw ServiceError(.invalidBody, "This field is required.", field: "batch")
            }
            guard batch.first == UInt8(ascii: "[") else {
                throw ServiceError(.invalidBody, "Expected an array of messages.", field: "batch")
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
            // The array has been read before, so only the limit can have failed.
            throw ServiceError(.limitExceeded, "Expected at most \(maximumMessages) messages.", field: "batch")
        }
    }

    /// Reads a body that is a single message.
    ///
    /// - Throws: `invalid-json`, `invalid-body`.
    init(message body: [UInt8], _ kind: EventKind, _ origin: EventReader.Origin) throws {
        try Self.read(body) { bytes, fields in
            var reader = EventReader(origin, sentAt: try? fields.string("sentAt", upTo: 64).flatMap(EventTime.date))
            try take(&reader, bytes, kind, at: 0)
        }
        if let fault = rejected.first { throw ServiceError(.invalidBody, fault.reason, field: fault.field) }
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

    /// Reads the body. If it is not valid JSON only because of damaged characters, these are replaced first: rejecting
    /// the request would lose everything that a phone has collected.
    private static func read(_ body: [UInt8], _ handler: (UnsafeBufferPointer<UInt8>, MessageFields) throws -> Void)
        throws
    {
        guard let error = try attempt(body, handler) else { return }
        let repaired = RepairedText.bytes(of: body)
        if repaired != body, try attempt(repaired, handler) == nil { return }
        throw ServiceError(error)
    }

    /// Calls `handler` if the body is a JSON object. Otherwise returns what is wrong with it.
    private static func attempt(_ body: [UInt8], _ handler: (UnsafeBufferPointer<UInt8>, MessageFields) throws -> Void)
        throws -> JSONError?
    {
        try body.withUnsafeBufferPointer { bytes -> JSONError? in
            let fields: MessageFields
            do throws(JSONError) {
                fields = try MessageFields(bytes)
            } catch {
                return error
            }
            try handler(bytes, fields)
            return nil
        }
    }
}
