import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletHTTP
import MartletSentry
import NIOCore

/// `POST /crash/api/{project}/envelope/`: an envelope from one of Sentry's clients. 200 with `{"id":…}` once it is on
/// disk; ingest key.
///
/// 400 for an invalid envelope, 413, 415 for a compression other than gzip, deflate, br and zstd, 429 with
/// `X-Sentry-Rate-Limits`; never a 5xx.
struct PostEnvelope: Endpoint {
    static let route = Route(
        .post, "/crash/api/{project}/envelope", "postEnvelope",
        """
        An envelope as Sentry's clients send it, perhaps packed by gzip, deflate, br or zstd; with or \
        without a slash at the end of the path.
        """, callers: .ingestKeys,
        parameters: [
            .path("project", .integer, "The app's number, as in `sentryDSN` of connection.json.")
        ],
        checksOwnQuery: true,
        body: .contents(.type("application/x-sentry-envelope", .bytes)),
        answers: [
            .answer(
                200, "It outlives a loss of power. `id`: of the event, where there is one.",
                .json(
                    .object(
                        [
                            "id": .string
                        ]))),
            .answer(
                400, "No envelope: `detail`, `causes`, and the first cause in `X-Sentry-Error`.", .json(.sentryError)),
            .answer(413, "Larger than it may be.", .json(.sentryError)),
            .answer(415, "Packed in another way than gzip, deflate, br or zstd.", .json(.sentryError)),
            .answer(
                429,
                """
                Over the quota, or nothing can be kept right now: `X-Sentry-Rate-Limits` says what to keep for how \
                many seconds.
                """, .json(.sentryError)),
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

/// `POST /crash/api/{project}/store/`: one event as JSON, from older clients.
struct PostStoredEvent: Endpoint {
    static let route = Route(
        .post, "/crash/api/{project}/store", "postStoredEvent", "One event as Sentry's older clients send it.",
        callers: .ingestKeys,
        parameters: [
            .path("project", .integer, "The app's number, as in `sentryDSN` of connection.json.")
        ],
        checksOwnQuery: true,
        body: .json(.object),
        answers: [
            .answer(
                200, "It outlives a loss of power.",
                .json(
                    .object(
                        [
                            "id": .string
                        ]))),
            .answer(400, "Packed in another way than it says.", .json(.sentryError)),
            .answer(413, "More than 1 MiB.", .json(.sentryError)),
            .answer(415, "Packed in another way than gzip, deflate, br or zstd.", .json(.sentryError)),
            .answer(429, "As of envelopes.", .json(.sentryError)),
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
            guard principal.kind == .ingest else { throw HTTPProblem(.forbidden, "This call needs an ingest key.") }
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
        } catch let problem as HTTPProblem where problem.code == .payloadTooLarge {
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
