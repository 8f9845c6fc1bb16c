#if canImport(UIKit) && canImport(UserNotifications) && !os(watchOS)
public import UIKit
public import UserNotifications

// Not compiled on Linux, where this project is built and tested. The logic is in Notifications and
// ReceivedNotification.

extension Notifications {
    /// For `userNotificationCenter(_:didReceive:)`: the user tapped a notification, whether the app was running or not.
    @discardableResult
    public func handle(_ response: UNNotificationResponse) async -> NotificationOutcome {
        guard response.actionIdentifier != UNNotificationDismissActionIdentifier else { return .shown }
        return await handle(JSON(payload: response.notification.request.content.userInfo), in: .tapped)
    }

    /// For `userNotificationCenter(_:willPresent:)`: it arrived while the app was open.
    @discardableResult
    public func handle(_ notification: UNNotification) async -> NotificationOutcome {
        await handle(JSON(payload: notification.request.content.userInfo), in: .foreground)
    }

    /// For `application(_:didReceiveRemoteNotification:)`: usually a silent notification.
    public func handle(_ userInfo: [AnyHashable: Any]) async -> UIBackgroundFetchResult {
        switch await handle(JSON(payload: userInfo), in: .background) {
        case .synced(let hasNewData): hasNewData ? .newData : .noData
        default: .noData
        }
    }
}

extension JSON {
    fileprivate init(payload: [AnyHashable: Any]) {
        let members = payload.reduce(into: [String: Any]()) { members, member in
            // Local notifications may contain dates and bytes, on which JSONSerialization traps.
            guard let name = member.key as? String, JSONSerialization.isValidJSONObject([member.value]) else { return }
            members[name] = member.value
        }
        let data = try? JSONSerialization.data(withJSONObject: members)
        self = data.flatMap { try? JSON(parsing: $0) } ?? .object([:])
    }
}

extension Martlet {
    /// Sends events and reports when the app goes to the background, with the time that the system grants for it, and
    /// refreshes configuration, texts and flags when it comes back. Call it once, at the start.
    @MainActor
    public func followAppLifecycle() {
        let center = NotificationCenter.default
        center.addObserver(
            forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: .main
        ) { [weak self] _ in MainActor.assumeIsolated { self?.enteredBackground() } }
        center.addObserver(
            forName: UIApplication.willEnterForegroundNotification, object: nil, queue: .main
        ) { [weak self] _ in Task { await self?.enteredForeground() } }
    }

    @MainActor
    private func enteredBackground() {
        let application = UIApplication.shared
        var identifier = UIBackgroundTaskIdentifier.invalid
        identifier = application.beginBackgroundTask { application.endBackgroundTask(identifier) }
        Task { @MainActor in
            await leaveForeground()
            application.endBackgroundTask(identifier)
        }
    }
}
#endif
