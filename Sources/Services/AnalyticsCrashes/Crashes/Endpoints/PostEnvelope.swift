import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletSentry
import NIOCore

/// Answers in the form of Sentry's own server. Never answers with a 5xx.
struct PostEnvelope: Endpoint {
    static let route = Route(
        .post, "/crash/api/{project}/envelope", "postEnvelope",
        "Accepts an envelope from Sentry's clients, optionally compressed with gzip, deflate, br or zstd.",
        callers: .ingestKeys,
        parameters: [
            .path("project", .integer, "The app's number, as in `sentryDSN` of connection.json.")
        ],
        checksOwnQuery: true,
        body: .contents(.type("application/x-sentry-envelope", .bytes)),
        answers: [
            .answer(
                200, "The envelope is stored durably. `id` is that of its event, if it has one.",
                .json(
                    .object(
                        [
                            "id": .string
                        ]))),
            .answer(
                400,
                """
                The envelope is invalid. `detail` and `causes` say why; the header `X-Sentry-Error` has the first \
                cause.
                """,
                .json(.sentryError)),
            .answer(413, "The envelope or one of its parts is too large.", .json(.sentryError)),
            .answer(
                415, "The body has a `Content-Encoding` other than gzip, deflate, br or zstd.", .json(.sentryError)),
            .answer(
                429,
                """
                The app is over its quota, or reports cannot be stored at the moment. The header \
                `X-Sentry-Rate-Limits` says what clients must hold back, and for how many seconds.
                """,
                .json(.sentryError)),
        ])

    let intake: CrashIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.ingestPrincipal
        return await SentryAnswer.answering {
            let (body, coding) = try await request.sentryBody()
            return try await intake.take(body, coding, of: principal)
        }
    }
}

struct PostStoredEvent: Endpoint {
    static let route = Route(
        .post, "/crash/api/{project}/store", "postStoredEvent", "Accepts one event from Sentry's older clients.",
        callers: .ingestKeys,
        parameters: [
            .path("project", .integer, "The app's number, as in `sentryDSN` of connection.json.")
        ],
        checksOwnQuery: true,
        body: .json(.object),
        answers: [
            .answer(
                200, "The event is stored durably.",
                .json(
                    .object(
                        [
                            "id": .string
                        ]))),
            .answer(400, "The body is invalid or does not match its `Content-Encoding`.", .json(.sentryError)),
            .answer(413, "The event has more than 1 MiB.", .json(.sentryError)),
            .answer(
                415, "The body has a `Content-Encoding` other than gzip, deflate, br or zstd.", .json(.sentryError)),
            .answer(
                429,
                """
                The app is over its quota, or reports cannot be stored at the moment. The header \
                `X-Sentry-Rate-Limits` says what clients must hold back, and for how many seconds.
                """,
                .json(.sentryError)),
        ])

    let intake: CrashIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.ingestPrincipal
        return await SentryAnswer.answering {
            let (body, coding) = try await request.sentryBody()
            return try await intake.take(Self.envelope(Self.unpacked(body, coding)), of: principal)
        }
    }

    /// Also accepts undeclared base64-encoded zlib, which the first clients sent.
    private static func unpacked(_ body: ByteBuffer, _ coding: ContentCoding?) throws -> [UInt8] {
        do {
            if let coding { return Array(buffer: try Inflate.decode(body, coding, upTo: CrashIntake.Limits.event)) }
            if body.readableBytesView.first != UInt8(ascii: "{"),
                let packed = Data(base64Encoded: Data(body.readableBytesView))
            {
                return Array(
                    buffer: try Inflate.decode(ByteBuffer(bytes: packed), .deflate, upTo: CrashIntake.Limits.event))
            }
        } catch InflateError.tooLarge(let limit) {
            throw EnvelopeRefusal.tooLarge("more than \(limit) bytes when decompressed")
        } catch {
            throw EnvelopeRefusal.invalid("the body does not match its Content-Encoding")
        }
        return Array(buffer: body)
    }

    private static func envelope(_ event: [UInt8]) -> Envelope {
        Envelope(header: .object([]), items: [Envelope.Item(header: .object([]), type: "event", payload: event[...])])
    }
}

extension ServiceContext {
    /// - Throws: `forbidden` for any key other than an ingest key.
    fileprivate var ingestPrincipal: Principal {
        get throws {
            let principal = try principal
            guard principal.kind == .ingest else { throw ServiceError(.forbidden, "This call needs an ingest key.") }
            return principal
        }
    }
}

extension Request {
    /// - Throws: `EnvelopeRefusal`.
    fileprivate func sentryBody() async throws -> (ByteBuffer, ContentCoding?) {
        let name = headers[.contentEncoding]?.trimmingCharacters(in: .whitespaces) ?? ""
        let coding = ContentCoding(name: name)
        guard coding != nil || name.isEmpty || name.lowercased() == "identity" else {
            throw EnvelopeRefusal(
                status: .unsupportedMediaType, detail: "unsupported content encoding",
                causes: ["send gzip, deflate, br or zstd"])
        }
        do {
            return (try await wholeBody(upTo: CrashIntake.Limits.body), coding)
        } catch let problem as ServiceError where problem.code == .payloadTooLarge {
            throw EnvelopeRefusal.tooLarge(problem.detail ?? "the body is too large")
        }
    }
}

extension SentryAnswer {
    fileprivate static func answering(_ body: () async throws -> (id: UUID?, rateLimits: [RateLimit])) async -> Response
    {
        do {
            let (id, rateLimits) = try await body()
            return accepted(id, rateLimits)
        } catch let refusal as EnvelopeRefusal {
            return refused(refusal)
        } catch {
            return refused(.invalid("the body did not arrive"))
        }
    }
}
