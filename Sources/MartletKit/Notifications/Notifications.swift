public import Foundation

extension Martlet {
    /// Push notifications: this device's installation, and the handling of notifications.
    public var notifications: Notifications { parts.notifications }
}

/// Registers the app on this device for push notifications, and reports which notifications the user opens.
///
/// ```swift
/// // application(_:didFinishLaunchingWithOptions:)
/// try await martlet.notifications.register()
/// // application(_:didRegisterForRemoteNotificationsWithDeviceToken:)
/// try await martlet.notifications.register(token: deviceToken)
/// ```
///
/// The client updates the registration by itself when somebody signs in or out. The app asks the user for permission,
/// at a moment when the user understands why.
public final class Notifications: Sendable {
    /// The APNs environment of a token.
    public enum TokenEnvironment: Sendable, Hashable {
        /// A development build.
        case sandbox
        /// TestFlight and the App Store.
        case production

        /// The environment that matches the build configuration.
        public static var current: TokenEnvironment {
            #if DEBUG
            .sandbox
            #else
            .production
            #endif
        }
    }

    private struct State {
        var registration: Registration
        var isRegistered = false
        var syncHook: (@Sendable (_ data: JSON) async throws -> Bool)?
    }

    private let api: APIClient
    private let identity: InstallationIdentity
    private let folder: LocalFolder
    private let state: Locked<State>
    private let sending = SharedRun()

    init(_ api: APIClient, _ identity: InstallationIdentity, _ folder: LocalFolder) {
        self.api = api
        self.identity = identity
        self.folder = folder
        state = Locked(State(registration: Registration(folder.readJSON(Self.file) ?? [:])))
    }

    // MARK: The installation

    /// The installation's id, for messages to this device only.
    public var installationID: String { identity.id }

    /// Registers the installation with all that is known about it. Call it each time the app is opened.
    ///
    /// - Throws: ``MartletError``. The next start tries again.
    public func register() async throws {
        let body = state.withLock { $0.registration.json(api.configuration.device) }
        try await send("PUT", "", body)
        state.withLock { $0.isRegistered = true }
    }

    /// Registers the installation with the token that Apple has given it.
    public func register(token: Data, environment: TokenEnvironment = .current) async throws {
        try change {
            $0.push = [
                "service": "apns", "token": .string(token.hexadecimal), "sandbox": .bool(environment == .sandbox),
            ]
        }
        try await register()
    }

    /// Stops notifications for this device; the installation stays.
    public func unregister() async throws {
        try change { $0.push = nil }
        try await send("PATCH", "", ["push": .null])
    }

    /// Subscribes this device to a channel. Channels are not protected: every installation of the app can join any.
    public func join(_ channel: String) async throws {
        try await send("PUT", "/channels/" + APIRequest.escape(channel))
    }

    /// Ends the subscription to a channel.
    public func leave(_ channel: String) async throws {
        try await send("DELETE", "/channels/" + APIRequest.escape(channel))
    }

    /// Sets attributes by which audiences can be selected. Null removes an attribute; those not listed are kept.
    public func setAttributes(_ attributes: [String: JSON]) async throws {
        try await send("PATCH", "", ["attributes": .object(attributes)])
    }

    /// Sets the number on the app's icon. The server increments it from there.
    public func setBadge(_ badge: Int) async throws {
        try await send("PATCH", "", ["badge": .number(JSONNumber(badge))])
    }

    // MARK: To other users

    /// Sends a message from the signed-in user to others, by a template that a client rule allows
    /// (`notifications/client-rules`).
    ///
    /// - Throws: ``MartletError``: `forbidden` if no rule allows it, `tooManyRequests` beyond a rule's limit.
    public func send(_ template: String, _ variables: [String: JSON] = [:], to userIDs: [String]) async throws {
        var request = APIRequest.write(
            "POST", "notifications/messages",
            json: [
                "template": .string(template), "variables": .object(variables),
                "audience": ["users": .array(userIDs.map(JSON.string))],
            ])
        request.caller = .user
        try await api.send(request)
    }

    // MARK: Notifications that arrive

    /// Sets what to do on a silent notification, such as fetching data. ``Martlet/refreshInBackground()`` calls the
    /// closure, too, without data. The closure returns whether there was new data.
    public func onSync(_ sync: @escaping @Sendable (_ data: JSON) async throws -> Bool) {
        state.withLock { $0.syncHook = sync }
    }

    /// Handles a notification, and reports it if the user opened the app from it.
    ///
    /// Each message is reported once, whichever of the app's callbacks are called for it. A report that cannot be sent
    /// waits on disk.
    ///
    /// - Returns: What the notification means for the app.
    @discardableResult
    public func handle(_ payload: JSON, in appState: NotificationState) async -> NotificationOutcome {
        let notification = ReceivedNotification(payload)
        guard let message = notification.message else { return .notOurs }
        let outcome = notification.outcome(appState)
        switch outcome {
        case .opened:
            await reportOpened(message)
            return outcome
        case .synced:
            return .synced(hasNewData: await sync(notification.data))
        case .shown, .notOurs:
            return outcome
        }
    }

    /// Sends reports that could not be sent earlier. Called at the start.
    public func flush() async { await sendOpened() }

    func changedUser() async {
        guard state.withLock({ $0.isRegistered }) else { return }
        do {
            try await register()
        } catch {
            api.configuration.log(.info, "Could not register the installation for this user", ["error": "\(error)"])
        }
    }

    /// Runs the hook of ``onSync(_:)``. Returns whether there was new data.
    func sync(_ data: JSON) async -> Bool {
        guard let hook = state.withLock({ $0.syncHook }) else { return false }
        do {
            return try await hook(data)
        } catch {
            api.configuration.log(.info, "The background sync failed", ["error": "\(error)"])
            return false
        }
    }

    private func reportOpened(_ message: String) async {
        do {
            try change { $0.open(message) }
        } catch {
            api.configuration.log(.info, "Could not store the report of an opened notification", ["error": "\(error)"])
        }
        await sendOpened()
    }

    private func sendOpened() async { try? await sending.run { [self] in await sendAllOpened() } }

    private func sendAllOpened() async {
        for message in state.withLock({ $0.registration.waiting }) {
            do {
                try await send("POST", "/opened", ["message": .string(message)])
            } catch let error as MartletError where (400..<500).contains(error.status ?? 0) && error.status != 429 {
                api.configuration.log(
                    .info, "The server refused the report of an opened notification", ["error": "\(error)"])
            } catch {
                return
            }
            try? change { $0.reported(message) }
        }
    }

    // MARK: Implementation

    private static let file = "registration.json"

    private func change(_ change: (inout Registration) -> Void) throws {
        // Under the lock, so that the file contains the last change in the end.
        try state.withLock { state in
            change(&state.registration)
            try folder.write(state.registration.kept.data, to: Self.file)
        }
    }

    private func send(_ method: String, _ path: String, _ body: JSON? = nil) async throws {
        var request = APIRequest(method, "installations/\(identity.id)\(path)", json: body, repetition: .idempotent)
        request.headers["installation-secret"] = identity.secret
        try await api.send(request)
    }
}

/// The state of the device's registration, which survives restarts.
struct Registration: Sendable, Equatable {
    private static let maximumRemembered = 200

    var push: JSON?
    /// Opened messages that the server does not know of yet.
    private(set) var waiting: [String]
    /// Messages opened so far, so that none is reported twice.
    private var opened: [String]

    init(_ kept: JSON) {
        push = kept["push"].flatMap { $0.isNull ? nil : $0 }
        waiting = (kept["waiting"]?.arrayValue ?? []).compactMap(\.stringValue)
        opened = (kept["opened"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    var kept: JSON {
        [
            "push": push ?? .null, "waiting": .array(waiting.map(JSON.string)),
            "opened": .array(opened.map(JSON.string)),
        ]
    }

    mutating func open(_ message: String) {
        guard !opened.contains(message) else { return }
        opened = Array((opened + [message]).suffix(Self.maximumRemembered))
        waiting = Array((waiting + [message]).suffix(Self.maximumRemembered))
    }

    mutating func reported(_ message: String) { waiting.removeAll { $0 == message } }

    /// The body of a registration.
    func json(_ device: DeviceInfo) -> JSON {
        // The server knows Apple's platforms, `android` and `web`.
        let platform = device.platform == "linux" ? "web" : device.platform
        return [
            "platform": .string(platform), "push": push ?? .null, "appVersion": .string(device.appVersion),
            "osVersion": .string(device.systemVersion), "deviceModel": .string(device.model),
            "locale": .string(device.language), "timeZone": .string(device.timeZone),
        ]
    }
}
