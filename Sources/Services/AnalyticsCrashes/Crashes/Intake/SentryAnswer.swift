import Foundation
import HTTPTypes
import Hummingbird
import MartletCore
import MartletHTTP
import MartletSentry
import NIOCore

/// Builds responses in the form that Sentry's clients expect.
enum SentryAnswer {
    private static let limits = HTTPField.Name("X-Sentry-Rate-Limits")!
    private static let error = HTTPField.Name("X-Sentry-Error")!

    /// `{"id":"<32 hexadecimal digits>"}`, or `{}` without an id.
    static func accepted(_ id: UUID?, _ rateLimits: [RateLimit]) -> Response {
        answer(.ok, id.map { #"{"id":"\#($0.eventID)"}"# } ?? "{}", rateLimits)
    }

    static func refused(_ refusal: EnvelopeRefusal) -> Response {
        let causes = refusal.causes.map(JSONValue.quote).joined(separator: ",")
        var response = answer(
            refusal.status, #"{"detail":\#(JSONValue.quote(refusal.detail)),"causes":[\#(causes)]}"#, refusal.rateLimits
        )
        // A header value must be one line of printable ASCII.
        response.headers[error] = String(
            (refusal.causes.first ?? refusal.detail).unicodeScalars.filter { (0x20..<0x7f).contains($0.value) }.prefix(
                200
            ).map(Character.init))
        return response
    }

    private static func answer(_ status: HTTPResponse.Status, _ body: String, _ rateLimits: [RateLimit]) -> Response {
        var response = Response.json(ByteBuffer(string: body), status: status)
        if !rateLimits.isEmpty {
            response.headers[limits] = rateLimits.map(\.text).joined(separator: ", ")
            if status == .tooManyRequests { response.headers[.retryAfter] = "\(rateLimits.map(\.seconds).max() ?? 60)" }
        }
        return response
    }
}

/// Why an envelope was refused.
struct EnvelopeRefusal: Error {
    var status: HTTPResponse.Status
    var detail: String
    var causes: [String] = []
    var rateLimits: [RateLimit] = []

    static func invalid(_ cause: String) -> EnvelopeRefusal {
        EnvelopeRefusal(status: .badRequest, detail: "invalid event envelope", causes: [cause])
    }

    static func tooLarge(_ cause: String) -> EnvelopeRefusal {
        EnvelopeRefusal(status: .contentTooLarge, detail: "envelope exceeded size limits", causes: [cause])
    }

    /// All items are over quota.
    static func limited(_ rateLimits: [RateLimit]) -> EnvelopeRefusal {
        EnvelopeRefusal(
            status: .tooManyRequests, detail: "event submission rejected due to rate limits", causes: ["quota"],
            rateLimits: rateLimits)
    }

    /// Nothing can be stored at the moment. The status is never a 5xx, because clients discard an envelope after a 5xx.
    static func busy(_ cause: String) -> EnvelopeRefusal {
        EnvelopeRefusal(
            status: .tooManyRequests, detail: "temporarily not accepting reports", causes: [cause],
            rateLimits: [RateLimit(seconds: 60, categories: [], reason: cause)])
    }
}
