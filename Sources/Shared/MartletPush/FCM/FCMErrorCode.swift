import Foundation
import MartletCore

/// Why FCM refused a message (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode), and what Google's
/// front says before FCM does (https://cloud.google.com/apis/design/errors).
public enum FCMErrorCode: String, Sendable, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    case thirdPartyAuthentication = "THIRD_PARTY_AUTH_ERROR"
    case unauthenticated = "UNAUTHENTICATED"
    case permissionDenied = "PERMISSION_DENIED"
    case notFound = "NOT_FOUND"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
}

extension FCMErrorCode {
    /// What Google wants senders to wait who are told nothing else.
    static let quotaDelay: Duration = .seconds(60)
    static let serverErrorDelay: Duration = .seconds(10)

    /// - Parameters:
    ///   - isAboutToken: whether a violation of a field names the token: it is none, or was one of another app.
    ///   - sent: when the request was sent; FCM does not say since when a token is not valid any more.
    func meaning(isAboutToken: Bool, sent: Date, retryAfter: Duration?) -> PushFailure.Meaning {
        switch self {
        case .unregistered, .senderIDMismatch: .deviceGone(unlessRegisteredSince: sent)
        case .invalidArgument: isAboutToken ? .deviceGone(unlessRegisteredSince: sent) : .messageRejected
        // What Firebase has for Apple or browsers is missing or wrong: the other devices are reached.
        case .thirdPartyAuthentication: .messageRejected
        // The project or the API behind the credential is not there; a token that is gone is UNREGISTERED.
        case .notFound, .unauthenticated, .permissionDenied: .credentialBroken
        case .quotaExceeded, .resourceExhausted: .backOff(.credential, atLeast: retryAfter ?? Self.quotaDelay)
        case .unavailable, .internal, .unspecified: .backOff(.service, atLeast: retryAfter ?? Self.serverErrorDelay)
        }
    }

    static func meaning(ofStatus status: Int, retryAfter: Duration?) -> PushFailure.Meaning {
        switch status {
        case 401, 403: .credentialBroken
        case 429: .backOff(.credential, atLeast: retryAfter ?? quotaDelay)
        case 500...599: .backOff(.service, atLeast: retryAfter ?? serverErrorDelay)
        default: .messageRejected
        }
    }
}

/// What FCM answered to one message.
struct FCMAnswer {
    var status: Int
    var retryAfter: String?
    var json: JSONValue?

    /// FCM's own code; where it is missing, that of Google's front.
    var code: FCMErrorCode? {
        let own = details.first { $0.string("@type")?.hasSuffix("FcmError") == true }?.string("errorCode")
        return (own ?? json?["error"]?.string("status")).flatMap { FCMErrorCode(rawValue: $0) }
    }

    func outcome(sent: Date, now: Date) -> PushOutcome {
        if status == 200 { return .accepted(PushReceipt(id: json?.string("name"))) }
        let delay = RetryAfter.duration(retryAfter, at: now)
        let meaning =
            code?.meaning(isAboutToken: isAboutToken, sent: sent, retryAfter: delay)
            ?? FCMErrorCode.meaning(ofStatus: status, retryAfter: delay)
        return .failed(meaning, reason: code?.rawValue ?? "status-\(status)", status: status)
    }

    private var details: [JSONValue] {
        if case .array(let elements)? = json?["error"]?["details"] { elements } else { [] }
    }

    private var isAboutToken: Bool {
        details.contains { detail in
            guard case .array(let violations)? = detail["fieldViolations"] else { return false }
            return violations.contains { $0.string("field") == "message.token" }
        }
    }
}
