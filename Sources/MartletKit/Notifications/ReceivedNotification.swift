import Foundation

/// Where the app was when a notification arrived.
public enum NotificationState: Sendable, Hashable {
    /// In the foreground: the notification arrived while the app was open.
    case foreground
    /// In the background, or woken for it.
    case background
    /// The user tapped the notification: it opened the app, which was in the background or not running.
    case tapped
}

/// What a notification means for the app.
public enum NotificationOutcome: Sendable, Hashable {
    /// The notification does not come from this server.
    case notOurs
    /// There is something to show; the user has not opened it.
    case shown
    /// The user opened the app from it. This was reported to the server, or will be.
    case opened
    /// A silent notification. The closure of ``Notifications/onSync(_:)`` has run.
    case synced(hasNewData: Bool)
}

/// A push message as it arrives: APNs' payload with `martlet.message` in it.
struct ReceivedNotification: Sendable {
    /// The message's id on the server.
    let message: String?
    let isSilent: Bool
    /// The data that the sender added.
    let data: JSON

    init(_ payload: JSON) {
        message = payload["martlet"]?["message"]?.stringValue ?? payload["martlet.message"]?.stringValue
        let aps = payload["aps"]
        let wakes = aps?["content-available"]?.intValue == 1
        isSilent = wakes && aps?["alert"] == nil && aps?["sound"] == nil
        var rest = payload
        rest["aps"] = nil
        data = rest
    }

    func outcome(_ state: NotificationState) -> NotificationOutcome {
        if state == .tapped { return .opened }
        return isSilent ? .synced(hasNewData: false) : .shown
    }
}
