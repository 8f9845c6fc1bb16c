import Foundation
import MartletPush

/// A message in the form of one push service.
enum PushMessage: Sendable {
    case apns(APNsNotification)
    case fcm(FCMMessage)
    case webPush(WebPushMessage, WebPushSubscription)
}

/// The identity of a push, the same for each attempt.
struct PushIdentity: Sendable {
    var message: UUID
    /// The id of the delivery, used as `apns-id`.
    var pushID: UUID
    /// How long push services keep the push.
    var expires: Date
}

/// The reason why a message cannot be sent to a device, found before asking the push service.
enum PushFault: Error, Sendable, Equatable {
    /// APNs requires a bundle id.
    case noBundleID
    /// The push service does not support the message type, such as a Live Activity.
    case unsupportedService
    case apns(APNsMessageFault)
    case fcm(FCMMessageFault)
    case webPush(WebPushMessageFault)
    case subscription(WebPushSubscriptionError)

    /// The reason in the delivery's record.
    var reason: String {
        switch self {
        case .noBundleID: "MissingTopic"
        case .unsupportedService: "service-cannot"
        case .apns(let fault): fault.reason.rawValue
        case .fcm: "INVALID_ARGUMENT"
        case .webPush(let fault): fault.reason
        case .subscription: "invalid-subscription"
        }
    }

    /// The size of a payload that is too large.
    var sizeInBytes: Int? {
        switch self {
        case .apns(.payloadTooLarge(let size, _)), .fcm(.payloadTooLarge(let size)),
            .webPush(.payloadTooLarge(let size)):
            size
        default: nil
        }
    }

    /// An explanation for the author of the message.
    var sentence: String {
        switch self {
        case .noBundleID: "The installation has no bundle id."
        case .unsupportedService: "This push service does not support messages of this type."
        case .apns(let fault): fault.sentence
        case .fcm(let fault): fault.sentence
        case .webPush(let fault): fault.sentence
        case .subscription(let error): error.sentence
        }
    }
}
