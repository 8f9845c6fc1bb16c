import Foundation
import MartletPush

/// A message as one push service takes it.
enum PushMessage: Sendable {
    case apns(APNsNotification)
    case fcm(FCMMessage)
    case webPush(WebPushMessage, WebPushSubscription)
}

/// By what a push is known, the same for each attempt.
struct PushIdentity: Sendable {
    var message: UUID
    /// Of the delivery: `apns-id`.
    var pushID: UUID
    /// Until when push services keep it.
    var expires: Date
}

/// Why a message cannot be sent to a device, whatever the push service says.
enum PushFault: Error, Sendable, Equatable {
    /// APNs needs to know which app it is for.
    case noBundleID
    /// A Live Activity for a device that has none.
    case serviceCannot
    case apns(APNsMessageFault)
    case fcm(FCMMessageFault)
    case webPush(WebPushMessageFault)
    case subscription(WebPushSubscriptionError)

    /// For the delivery's record.
    var reason: String {
        switch self {
        case .noBundleID: "MissingTopic"
        case .serviceCannot: "service-cannot"
        case .apns(let fault): fault.reason.rawValue
        case .fcm: "INVALID_ARGUMENT"
        case .webPush(let fault): fault.reason
        case .subscription: "invalid-subscription"
        }
    }

    /// Of a payload that is too large.
    var sizeInBytes: Int? {
        switch self {
        case .apns(.payloadTooLarge(let size, _)), .fcm(.payloadTooLarge(let size)),
            .webPush(.payloadTooLarge(let size)):
            size
        default: nil
        }
    }

    /// For who wrote the message.
    var sentence: String {
        switch self {
        case .noBundleID: "The installation has no bundle id."
        case .serviceCannot: "This push service does not know messages of this type."
        case .apns(let fault): fault.sentence
        case .fcm(let fault): fault.sentence
        case .webPush(let fault): fault.sentence
        case .subscription(let error): error.sentence
        }
    }
}
