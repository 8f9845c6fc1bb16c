import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletPostgres

/// Reads the origin and the body of a request that sends events.
struct EventIntake: Sendable {
    static let maximumBodyInBytes = 1 << 20
    static let maximumInflatedInBytes = 4 << 20

    let events: Events

    /// What all events of the request share: the sender, the time of receipt, and the space with its settings.
    func origin(of request: Request, _ context: ServiceContext) async throws -> EventReader.Origin {
        let principal = try context.principal
        let space = try await events.spaces.space(of: principal)
        let settings = try await events.settings.settings(of: space)
        let now = events.now()
        return EventReader.Origin(
            space: space, settings: settings, received: now, maximumAge: events.maximumAge, userID: principal.userID,
            deviceID: request.deviceID,
            visitor: (request.headers[HTTPField.Name(HeaderName.address)!] ?? "") + "\n"
                + (request.headers[.userAgent] ?? ""),
            salt: try await events.salts.salt(at: now), dimensions: Dimensions(request.headers),
            isUntracked: request.isUntracked,
            isTrusted: principal.kind == .master)
    }

    /// The request body, decompressed according to `Content-Encoding`.
    ///
    /// - Throws: `payload-too-large`, `unsupported-media-type`, `invalid-body`.
    func body(of request: Request) async throws -> [UInt8] {
        let body = try await request.wholeBody(upTo: Self.maximumBodyInBytes)
        guard let name = request.headers[.contentEncoding], name.lowercased() != "identity" else {
            return Array(body.readableBytesView)
        }
        guard let coding = ContentCoding(name: name) else {
            throw ServiceError(
                .unsupportedMediaType,
                "Expected no compression, or one of gzip, deflate, br and zstd, found \(JSONValue.excerpt(name)).",
                field: "Content-Encoding")
        }
        do {
            return Array(try Inflate.decode(body, coding, upTo: Self.maximumInflatedInBytes).readableBytesView)
        } catch .tooLarge(let limit) {
            throw ServiceError(.payloadTooLarge, "The body may have at most \(limit) bytes after decompression.")
        } catch .damaged {
            throw ServiceError(
                .invalidBody, "The body could not be decompressed with the Content-Encoding of the request.")
        }
    }
}

extension Request {
    /// Whether the sender opts out of tracking, by `DNT` or `Sec-GPC` (Global Privacy Control).
    fileprivate var isUntracked: Bool { ["DNT", "Sec-GPC"].contains { headers[HTTPField.Name($0)!] == "1" } }

    /// The device id from the request's header; nil if it is missing, empty or longer than 128 bytes.
    var deviceID: String? {
        headers[HTTPField.Name(HeaderName.deviceID)!].flatMap { (1...128).contains($0.utf8.count) ? $0 : nil }
    }
}
