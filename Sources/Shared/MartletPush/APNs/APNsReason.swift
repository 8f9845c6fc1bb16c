import Foundation

/// The reasons, as documented by Apple, for which APNs refuses a request
/// (https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns).
public enum APNsReason: String, Sendable, CaseIterable {
    // 400
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    // 403
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    // 404, 405
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    // 410
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    // 413
    case payloadTooLarge = "PayloadTooLarge"
    // 429
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    // 500, 503
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
}

extension APNsReason {
    /// How long senders must wait after a 5xx, according to Apple.
    static let serverErrorDelay: Duration = .seconds(15 * 60)
    static let deviceDelay: Duration = .seconds(60)

    /// What the sender has to do.
    ///
    /// `BadDeviceToken` also means a token of the other environment. Many of them probably indicate a mix-up of sandbox
    /// and production, so check before forgetting devices.
    ///
    /// - Parameters:
    ///   - timestamp: The time, from the answer, since which the token has been invalid.
    ///   - sent: When the request was sent.
    func meaning(timestamp: Date?, sent: Date, retryAfter: Duration?) -> PushFailure.Meaning {
        switch self {
        case .badDeviceToken, .expiredToken, .unregistered: .deviceGone(unlessRegisteredSince: timestamp ?? sent)
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .badTopic, .deviceTokenNotForTopic,
            .duplicateHeaders,
            .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty, .topicDisallowed, .badPath,
            .methodNotAllowed, .payloadTooLarge:
            .messageRejected
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken,
            .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken:
            .credentialBroken
        // Caused by the connection, not the message: the next attempt uses another one.
        case .idleTimeout, .shutdown: .notSent
        case .tooManyProviderTokenUpdates: .backOff(.credential, atLeast: retryAfter ?? APNsProviderToken.minimumAge)
        case .tooManyRequests: .backOff(.device, atLeast: retryAfter ?? Self.deviceDelay)
        case .internalServerError, .serviceUnavailable: .backOff(.service, atLeast: retryAfter ?? Self.serverErrorDelay)
        }
    }

    /// What a status means if the reason is missing, or was added by Apple later.
    static func meaning(ofStatus status: Int, timestamp: Date?, sent: Date, retryAfter: Duration?)
        -> PushFailure.Meaning
    {
        switch status {
        case 403: .credentialBroken
        case 410: .deviceGone(unlessRegisteredSince: timestamp ?? sent)
        case 429: .backOff(.device, atLeast: retryAfter ?? deviceDelay)
        case 500...599: .backOff(.service, atLeast: retryAfter ?? serverErrorDelay)
        default: .messageRejected
        }
    }
}
