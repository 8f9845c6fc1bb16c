import Foundation
import MartletAPI
import MartletCompression
import MartletSentry
import NIOCore

/// An envelope as stored in the spool, with its metadata.
struct ReceivedEnvelope: Sendable, Equatable {
    private static let version: UInt8 = 1
    /// The index is the number stored in a record.
    private static let codings: [ContentCoding?] = [nil, .gzip, .deflate, .brotli, .zstandard]

    var appID: String
    var environment: AppEnvironment
    var received: Date
    /// The id of the envelope's event, generated if the client sent none.
    var eventID: UUID?
    /// The compression of `body`.
    var coding: ContentCoding?
    var body: [UInt8]

    /// Decompresses and parses the envelope. It was validated on receipt, so an error means damage.
    ///
    /// - Throws: `InflateError`, `EnvelopeError`.
    func envelope(upTo limitInBytes: Int) throws -> Envelope {
        guard let coding else { return try Envelope(parsing: body) }
        return try Envelope(
            parsing: Array(buffer: try Inflate.decode(ByteBuffer(bytes: body), coding, upTo: limitInBytes)))
    }

    /// Layout: version, coding, environment, microseconds since 1970 (8 bytes), event id (16, zeros if none), length of
    /// the app id, app id, body.
    var record: [UInt8] {
        let appID = Array(appID.utf8.prefix(255))
        var record: [UInt8] = [
            Self.version, UInt8(Self.codings.firstIndex(of: coding) ?? 0), environment == .live ? 0 : 1,
        ]
        record.reserveCapacity(28 + appID.count + body.count)
        withUnsafeBytes(of: Int64(received.timeIntervalSince1970 * 1e6).bigEndian) { record.append(contentsOf: $0) }
        withUnsafeBytes(of: (eventID ?? Self.none).uuid) { record.append(contentsOf: $0) }
        record.append(UInt8(appID.count))
        record += appID
        record += body
        return record
    }

    /// Nil if the bytes are not a record.
    init?(record: [UInt8]) {
        guard record.count >= 28, record[0] == Self.version, record[1] < Self.codings.count, record[2] <= 1 else {
            return nil
        }
        let idLength = Int(record[27])
        guard record.count >= 28 + idLength else { return nil }
        coding = Self.codings[Int(record[1])]
        environment = record[2] == 0 ? .live : .test
        let microseconds = record[3..<11].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        received = Date(timeIntervalSince1970: Double(microseconds) / 1e6)
        let id = record[11..<27].withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        eventID = id == Self.none ? nil : id
        appID = String(decoding: record[28..<28 + idLength], as: UTF8.self)
        body = Array(record[(28 + idLength)...])
    }

    init(
        appID: String, environment: AppEnvironment, received: Date, eventID: UUID?, coding: ContentCoding?,
        body: [UInt8]
    ) {
        self.appID = appID
        self.environment = environment
        self.received = received
        self.eventID = eventID
        self.coding = coding
        self.body = body
    }

    private static let none = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}
