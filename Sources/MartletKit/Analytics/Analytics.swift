import Foundation

extension Martlet {
    /// Records what happens in the app.
    public var analytics: Analytics { parts.analytics }
}

/// Records what happens in the app, once the user has agreed.
///
/// ```swift
/// martlet.analytics.consent = .granted
/// martlet.analytics.screen("Home")
/// martlet.analytics.track("Bought", ["price": 4.90])
/// ```
///
/// Recording returns at once. Events are stored on disk, where they survive restarts, and sent in batches. Each event
/// is sent until the server has confirmed it. Its id ensures that the server stores it only once.
public final class Analytics: Sendable {
    /// Whether the user agrees to being measured.
    public enum Consent: String, Sendable, Hashable {
        /// Not asked yet. Nothing is recorded, as if denied.
        case unknown
        case granted
        case denied
    }

    private struct State {
        var store: EventStore
        var consent: Consent
        /// The user id that the app passed to ``Analytics/identify(_:traits:)``.
        var identified: String?
        /// The id of the signed-in user. It takes precedence over `identified`.
        var userID: String?
        var timer: Task<Void, Never>?
    }

    private let configuration: Martlet.Configuration
    private let options: Martlet.AnalyticsOptions
    private let identity: InstallationIdentity
    private let folder: LocalFolder
    /// Reads the configuration's version and the variations by experiment, which each event carries.
    private let experimentState: Locked<@Sendable () -> (version: String?, variants: [String: String])>
    private let state: Locked<State>
    private let sender: EventSender

    init(_ api: APIClient, _ identity: InstallationIdentity, _ folder: LocalFolder) {
        configuration = api.configuration
        options = configuration.analytics
        self.identity = identity
        self.folder = folder
        experimentState = Locked({ (nil, [:]) })
        let kept = folder.readJSON(Self.file)
        let store = EventStore(
            folder.subfolder("queue"), maximumSize: options.maximumQueueSizeInBytes, maximumCount: options.batchSize)
        state = Locked(
            State(
                store: store, consent: kept?["consent"]?.stringValue.flatMap { Consent(rawValue: $0) } ?? .unknown,
                identified: kept?["userId"]?.stringValue,
                userID: (try? configuration.sessionStore.load())?.user.id))
        sender = EventSender(api, deviceID: identity.id)
    }

    // MARK: Consent

    /// Whether the user agrees. The value survives restarts. Unless it is `granted`, nothing is stored or sent, and
    /// unsent events are deleted as soon as the consent is withdrawn.
    public var consent: Consent {
        get { state.withLock { $0.consent } }
        set {
            change { state in
                guard state.consent != newValue else { return false }
                state.consent = newValue
                if newValue != .granted {
                    state.store.removeAll()
                    state.identified = nil
                    state.timer?.cancel()
                    state.timer = nil
                }
                return true
            }
        }
    }

    // MARK: Recording

    /// Records that something happened. Use the same name for all events of a kind, and put their differences into the
    /// properties.
    public func track(_ event: String, _ properties: [String: JSON] = [:]) {
        record("track", name: event, ["event": .string(event), "properties": .object(properties)])
    }

    /// Records that a screen was shown.
    public func screen(_ name: String, _ properties: [String: JSON] = [:]) {
        record("screen", name: name, ["name": .string(name), "properties": .object(properties)])
    }

    /// Sets the user id and traits for this device's events. The id of a signed-in user is set automatically.
    public func identify(_ userID: String? = nil, traits: [String: JSON] = [:]) {
        change { state in
            guard state.consent == .granted, let userID else { return false }
            state.identified = userID
            return true
        }
        record("identify", name: nil, ["traits": .object(traits)])
    }

    /// Records which company, team or class the user belongs to.
    public func group(_ groupID: String, traits: [String: JSON] = [:]) {
        record("group", name: nil, ["groupId": .string(groupID), "traits": .object(traits)])
    }

    /// Removes the user id and traits set by ``identify(_:traits:)``.
    public func reset() {
        change { state in
            state.identified = nil
            return true
        }
    }

    // MARK: Sending

    /// Sends all waiting events. This also happens when a batch is full, and after
    /// ``Martlet/AnalyticsOptions/interval``. Call it when the app goes to the background.
    ///
    /// - Throws: ``MartletError``. Events that were not confirmed are kept and sent again.
    public func flush() async throws {
        state.withLock { $0.store.close() }
        try await sendBatches()
    }

    private func sendBatches() async throws {
        try await sender.send(
            next: { [state] in
                state.withLock { $0.consent == .granted ? $0.store.oldest() : nil }
            },
            done: { [state] name in state.withLock { $0.store.remove(name) } })
    }

    // MARK: Implementation

    func changed(userID: String?) { state.withLock { $0.userID = userID } }

    func useExperimentState(_ read: @escaping @Sendable () -> (version: String?, variants: [String: String])) {
        experimentState.withLock { $0 = read }
    }

    private func record(_ type: String, name: String?, _ members: JSON) {
        guard consent == .granted, isSampled(name) else { return }
        var event = members
        event["type"] = .string(type)
        event["messageId"] = .string(UUID().uuidString.lowercased())
        event["timestamp"] = .string(RFC3339.text(configuration.clock.now()))
        event["anonymousId"] = .string(identity.id)
        event["context"] = context()
        // Logged after the lock is released: the app's log may record an event itself.
        var warning: (message: String, metadata: [String: String])?
        let isFull = state.withLock { state -> Bool in
            // The consent may have been withdrawn by another thread.
            guard state.consent == .granted else { return false }
            event["userId"] = (state.userID ?? state.identified).map(JSON.string)
            let line = event.data
            guard line.count <= EventStore.maximumEventSize else {
                warning = ("Dropped an event that is too large", ["event.size": "\(line.count)"])
                return false
            }
            do {
                let dropped = try state.store.append(line)
                if dropped > 0 {
                    warning = ("Dropped the oldest events; the queue is full", ["batches": "\(dropped)"])
                }
            } catch {
                warning = ("Could not store an event", ["error": "\(error)"])
            }
            let isFull = state.store.countInOpenFile == 0
            startTimer(&state)
            return isFull
        }
        if let warning { configuration.log(.warning, warning.message, warning.metadata) }
        if isFull { Task { [weak self] in await self?.sendQuietly() } }
    }

    private func startTimer(_ state: inout State) {
        guard state.timer == nil, let interval = options.interval else { return }
        let clock = configuration.clock
        state.timer = Task { [weak self] in
            try? await clock.sleep(interval)
            guard !Task.isCancelled else { return }
            self?.state.withLock { $0.timer = nil }
            await self?.flushQuietly()
        }
    }

    /// Like ``flush()``, but logs a failure instead of throwing it.
    func flushQuietly() async {
        state.withLock { $0.store.close() }
        await sendQuietly()
    }

    private func sendQuietly() async {
        do {
            try await sendBatches()
        } catch {
            configuration.log(.info, "Could not send events; they are kept", ["error": "\(error)"])
        }
    }

    /// Whether this device is in the sample. The answer is always the same for a device and an event name.
    private func isSampled(_ name: String?) -> Bool {
        let share = min(options.sampling, name.flatMap { options.samplingByEvent[$0] } ?? 1)
        guard share < 1 else { return true }
        // FNV-1a, 32 bits.
        let hash = identity.id.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return Double(hash) / Double(UInt32.max) < share
    }

    private func context() -> JSON {
        let device = configuration.device
        var app: JSON = ["version": .string(device.appVersion)]
        app["build"] = device.build.map(JSON.string)
        app["namespace"] = device.bundleIdentifier.map(JSON.string)
        var hardware: JSON = ["id": .string(identity.id), "model": .string(device.model)]
        hardware["manufacturer"] = device.manufacturer.map(JSON.string)
        let hasRegion = device.language.contains("-") || device.country == nil
        let locale = hasRegion ? device.language : device.language + "-" + (device.country ?? "")
        var context: JSON = [
            "app": app, "device": hardware, "locale": .string(locale), "timezone": .string(device.timeZone),
            "os": ["name": .string(device.systemName), "version": .string(device.systemVersion)],
            "library": ["name": "MartletKit", "version": .string(Martlet.version)],
        ]
        let now = experimentState.withLock { $0 }()
        context["configVersion"] = now.version.map(JSON.string)
        if !now.variants.isEmpty { context["experiments"] = .object(now.variants.mapValues(JSON.string)) }
        if options.sampling < 1 { context["sampling"] = JSONNumber(options.sampling).map(JSON.number) }
        return context
    }

    private static let file = "state.json"

    /// Changes the state, and stores the part that survives restarts if `change` returns true.
    private func change(_ change: (inout State) -> Bool) {
        do {
            // Under the lock, so that the file contains the last change in the end.
            try state.withLock { state in
                guard change(&state) else { return }
                let kept: JSON = [
                    "consent": .string(state.consent.rawValue), "userId": state.identified.map(JSON.string) ?? .null,
                ]
                try folder.write(kept.data, to: Self.file)
            }
        } catch {
            configuration.log(.warning, "Could not store the consent to analytics", ["error": "\(error)"])
        }
    }
}
