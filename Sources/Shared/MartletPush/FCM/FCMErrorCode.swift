import Foundation
import MartletCore

/// Why FCM refused a message (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode), including errors of
/// Google's front end (https://cloud.google.com/apis/design/errors).
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
    /// How long senders must wait, according to Google, if the answer does not specify a time.
    static let quotaDelay: Duration = .seconds(60)
    static let serverErrorDelay: Duration = .seconds(10)

    /// - Parameters:
    ///   - isAboutToken: Whether a field violation names the token: it is malformed or belongs to another app.
    ///   - sent: When the request was sent; FCM does not say since when a token has been invalid.
    func meaning(isAboutToken: Bool, sent: Date, retryAfter: Duration?) -> PushFailure.Meaning {
        switch self {
        case .unregistered, .senderIDMismatch: .deviceGone(unlessRegisteredSince: sent)
        case .invalidArgument: isAboutToken ? .deviceGone(unlessRegisteredSince: sent) : .messageRejected
        // Firebase's credentials for Apple or browsers are missing or wrong; other devices can still be reached.
        case .thirdPartyAuthentication: .messageRejected
        // The credential's project or API does not exist. A token that no longer exists is reported as UNREGISTERED.
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

/// FCM's answer to one message.
struct FCMAnswer {
    var status: Int
    var retryAfter: String?
    var json: JSONValue?

    /// FCM's own code; if absent, that of Google's front end.
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
