import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletPostgres

/// What the endpoints that take events have in common.
struct EventIntake: Sendable {
    static let maximumBodyInBytes = 1 << 20
    static let maximumInflatedInBytes = 4 << 20

    let events: Events

    /// Who sends what, and when, as far as the request says it.
    ///
    /// - Throws: `forbidden` for whoever is none of `kinds`.
    func origin(of request: Request, _ context: ServiceContext, for kinds: Set<Principal.Kind>) async throws
        -> EventReader.Origin
    {
        let principal = try context.principal
        guard kinds.contains(principal.kind) else { throw HTTPProblem(.forbidden) }
        let space = try await events.spaces.space(of: principal)
        let settings = try await events.settings.settings(of: space)
        let now = Date()
        return EventReader.Origin(
            space: space, settings: settings, received: now, maximumAge: events.maximumAge, userID: principal.userID,
            deviceID: request.deviceID,
            visitor: (request.headers[HTTPField.Name(HeaderName.address)!] ?? "") + "\n"
                + (request.headers[.userAgent] ?? ""),
            salt: try await events.salts.salt(at: now), dimensions: Dimensions(request.headers),
            isUntracked: request.isUntracked,
            isTrusted: principal.kind == .master)
    }

    /// The body, unpacked.
    ///
    /// - Throws: `payload-too-large`, `unsupported-media-type`, `invalid-body`.
    func body(of request: Request) async throws -> [UInt8] {
        let body = try await request.wholeBody(upTo: Self.maximumBodyInBytes)
        guard let name = request.headers[.contentEncoding], name.lowercased() != "identity" else {
            return Array(body.readableBytesView)
        }
        guard let coding = ContentCoding(name: name) else {
            throw HTTPProblem(
                .unsupportedMediaType, "A body may come as it is, or by gzip, deflate, br or zstd.",
                field: "Content-Encoding")
        }
        do {
            return Array(try Inflate.decode(body, coding, upTo: Self.maximumInflatedInBytes).readableBytesView)
        } catch .tooLarge(let limit) {
            throw HTTPProblem(.payloadTooLarge, "The body may have at most \(limit) bytes when it is unpacked.")
        } catch .damaged {
            throw HTTPProblem(.invalidBody, "The body is not what Content-Encoding says.")
        }
    }
}

extension Request {
    /// Whether the sender asks not to be followed: `DNT`, or `Sec-GPC` (Global Privacy Control).
    fileprivate var isUntracked: Bool { ["DNT", "Sec-GPC"].contains { headers[HTTPField.Name($0)!] == "1" } }

    /// What a header says of the device; nil for what is none.
    var deviceID: String? {
        headers[HTTPField.Name(HeaderName.deviceID)!].flatMap { (1...128).contains($0.utf8.count) ? $0 : nil }
    }
}
