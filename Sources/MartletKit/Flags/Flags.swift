import Foundation

extension Martlet {
    /// Values that the server decides by user and device.
    public var flags: Flags { parts.flags }
}

/// Values that the server decides by user and device: switches, shares of the users, A/B tests.
///
/// The server evaluates the rules, because they may use what only it knows (roles, profiles). The device keeps the
/// results. So reading never waits, and a user keeps the variants while offline and after a restart. With the product
/// `MartletLocalFlags`, the device evaluates the flags whose rules the server gives to apps.
///
/// ```swift
/// if martlet.flags.value("new-checkout", default: false) { … }
/// ```
///
/// Call ``refresh()`` at the start and when the app comes to the foreground, or iterate ``updates()``. After the first
/// refresh, the client refreshes again whenever somebody signs in or out, and when you set other ``attributes``.
///
/// The first time that a user reads a flag whose value was decided by a share or an experiment, the event
/// `Experiment Viewed` is recorded, once for each user and variant, if the user has agreed to analytics. The results of
/// experiments do not need it: the server counts who got which variation.
public final class Flags: Sendable {
    private struct State {
        var answers: FlagAnswers
        /// The user to whom the answers belong; nil if nobody was signed in.
        var userID: String?
        var attributes: [String: JSON] = [:]
        var evaluator: (any FlagEvaluator)?
        /// Whether the app has requested flags. If not, a sign-in makes no call.
        var isInUse = false
        /// The number of the last request, and of the request that the answers belong to.
        var asked = 0
        var answered = 0
        var exposures: Set<String>
    }

    private static let maximumExposures = 2_000

    private let api: APIClient
    private let identity: InstallationIdentity
    private let events: DocumentEvents
    package let folder: LocalFolder
    private let bundled: [String: JSON]
    private let analytics: Analytics
    private let state: Locked<State>
    private let observers = Observers<Void>()

    init(
        _ api: APIClient, _ identity: InstallationIdentity, _ events: DocumentEvents, _ folder: LocalFolder,
        _ defaults: BundledDefaults, _ analytics: Analytics
    ) {
        self.api = api
        self.identity = identity
        self.events = events
        self.folder = folder
        self.analytics = analytics
        bundled = defaults.flags?.objectValue ?? [:]
        let userID = (try? api.configuration.sessionStore.load())?.user.id
        let exposures = folder.readJSON(Self.exposureFile)?.arrayValue ?? []
        state = Locked(
            State(
                answers: Self.stored(userID, in: folder), userID: userID,
                exposures: Set(exposures.compactMap(\.stringValue))))
    }

    // MARK: Reading

    public subscript<Value>(parameter: Parameter<Value>) -> Value {
        evaluation(parameter.name, default: parameter.defaultValue).value
    }

    /// The flag's value, or else the one in the app's `Martlet.json`, or else the default. A value of another type
    /// counts as missing.
    public func value<Value: Decodable & Sendable>(_ name: String, default defaultValue: Value) -> Value {
        evaluation(name, default: defaultValue).value
    }

    /// The value with its variant and the reason for it.
    public func evaluation<Value: Decodable & Sendable>(
        _ name: String, default defaultValue: Value
    ) -> FlagEvaluation<Value> {
        let (answer, userID, evaluator, attributes) = state.withLock {
            ($0.answers.flags[name], $0.userID, $0.evaluator, $0.attributes)
        }
        let flag = evaluator?.evaluate(name, for: context(attributes), userID: userID) ?? answer
        // Flags have types: "1" is not a boolean, and a value of another type is a mistake in the app.
        if let flag, let value = try? flag.value.decoded(as: Value.self, tolerance: .none) {
            let reason = FlagEvaluation<Value>.Reason(rawValue: flag.reason)
            if reason == .share { expose(name, variant: flag.variant, userID: userID) }
            return FlagEvaluation(value: value, variant: flag.variant, reason: reason)
        }
        if let json = bundled[name], let value = try? json.decoded(as: Value.self, tolerance: .none) {
            return FlagEvaluation(value: value, variant: nil, reason: .bundled)
        }
        return FlagEvaluation(value: defaultValue, variant: nil, reason: .missing)
    }

    /// The user's variations by experiment, as of the last answer.
    public var experiments: [String: String] { state.withLock { $0.answers.experiments } }

    /// Attributes of the user for rules, in addition to those of the device: a plan, for example.
    ///
    /// Once the app has called ``refresh()``, a change makes the client ask the server again. Until the answer arrives,
    /// and while the device is offline, the values stay as they are, except for flags that the device evaluates.
    public var attributes: [String: JSON] {
        get { state.withLock { $0.attributes } }
        set {
            let asksAgain = state.withLock { state in
                guard state.attributes != newValue else { return false }
                state.attributes = newValue
                if state.evaluator != nil { observers.yield(()) }
                return state.isInUse
            }
            if asksAgain { Task { await refreshQuietly() } }
        }
    }

    // MARK: Refreshing

    /// Asks the server for all flags.
    ///
    /// - Returns: Whether any has changed.
    /// - Throws: ``MartletError``. What could not be read stays as it is.
    @discardableResult
    public func refresh() async throws -> Bool {
        // Rules that cannot be read must not keep the flags of the server from being refreshed.
        let haveAnswersChanged = try await refreshAnswers()
        let haveRulesChanged = try await state.withLock { $0.evaluator }?.refresh() ?? false
        if haveRulesChanged { observers.yield(()) }
        return haveAnswersChanged || haveRulesChanged
    }

    private func refreshAnswers() async throws -> Bool {
        let userID = try await api.session.current()?.user.id
        use(userID)
        let (number, context, known) = state.withLock { state in
            state.isInUse = true
            state.asked += 1
            return (state.asked, self.context(state.attributes), state.answers)
        }
        var request = APIRequest("POST", "flags/evaluate", json: ["context": context], repetition: .idempotent)
        request.headers[MartletHeader.deviceID] = identity.id
        if known.context == context { request.headers["if-none-match"] = known.entityTag }
        let response = try await events.send(request)
        guard response.status != 304 else {
            state.withLock { $0.answered = max($0.answered, number) }
            return false
        }
        let json = try JSON(parsing: response.body)
        guard json["flags"]?.objectValue != nil else {
            throw MartletError(.unexpectedAnswer, "The answer has no flags.")
        }
        let answers = FlagAnswers(json, entityTag: response.headers["etag"], context: context)
        let kept: JSON = ["answer": json, "etag": answers.entityTag.map(JSON.string) ?? .null, "context": context]
        return state.withLock { state in
            // Meanwhile somebody else may have signed in, or a later request with other attributes may have been
            // answered.
            guard state.userID == userID, state.answered < number else { return false }
            state.answered = number
            try? folder.write(kept.data, to: Self.file(of: userID))
            let hasChanged = state.answers.flags != answers.flags || state.answers.experiments != answers.experiments
            state.answers = answers
            if hasChanged { observers.yield(()) }
            return hasChanged
        }
    }

    /// Yields once at the start, and whenever flags change. While it is iterated, the client learns of published flags
    /// within a second or so.
    public func updates() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let following = Task { [self] in
            for await _ in await events.publications(where: { $0.concerns("flags", "experiment") }) {
                await refreshQuietly()
            }
        }
        state.withLock { _ in
            observers.add(continuation) { following.cancel() }
            continuation.yield()
        }
        return stream
    }

    /// Lets the device evaluate the flags that the evaluator knows.
    package func evaluate(with evaluator: any FlagEvaluator) {
        state.withLock { $0.evaluator = evaluator }
        observers.yield(())
    }

    /// Shows the flags of another user, as they were last known. Returns whether to request new ones.
    func changed(userID: String?) -> Bool { use(userID) && state.withLock { $0.isInUse } }

    func refreshQuietly() async {
        do {
            try await refresh()
        } catch {
            api.configuration.log(.info, "Could not refresh the flags", ["error": "\(error)"])
        }
    }

    @discardableResult
    private func use(_ userID: String?) -> Bool {
        state.withLock { state in
            guard state.userID != userID else { return false }
            // Values kept for other users would reveal who else uses the device.
            if let old = state.userID { folder.remove(Self.file(of: old)) }
            state.userID = userID
            state.answers = Self.stored(userID, in: folder)
            observers.yield(())
            return true
        }
    }

    private func context(_ attributes: [String: JSON]) -> JSON {
        let device = api.configuration.device
        var context = JSON.object(attributes)
        context["targetingKey"] = .string(identity.id)
        context["platform"] = .string(device.platform)
        context["osVersion"] = .string(device.systemVersion)
        context["appVersion"] = .string(device.appVersion)
        context["language"] = .string(device.language)
        context["country"] = device.country.map(JSON.string)
        context["appBuild"] = device.build.map(JSON.string)
        return context
    }

    // MARK: Exposures

    private func expose(_ name: String, variant: String?, userID: String?) {
        guard analytics.consent == .granted else { return }
        let key = [userID ?? "", name, variant ?? ""].joined(separator: "\u{1f}")
        let all = state.withLock { state -> Set<String>? in
            guard state.exposures.insert(key).inserted else { return nil }
            if state.exposures.count > Self.maximumExposures { state.exposures = [key] }
            return state.exposures
        }
        guard let all else { return }
        try? folder.write(JSON.array(all.sorted().map(JSON.string)).data, to: Self.exposureFile)
        analytics.track("Experiment Viewed", ["flag": .string(name), "variant": variant.map(JSON.string) ?? .null])
    }

    // MARK: On disk

    private static let exposureFile = "exposures.json"

    private static func file(of userID: String?) -> String {
        userID.map { "user-" + APIRequest.escape($0) + ".json" } ?? "device.json"
    }

    private static func stored(_ userID: String?, in folder: LocalFolder) -> FlagAnswers {
        guard let kept = folder.readJSON(file(of: userID)), let answer = kept["answer"] else { return FlagAnswers() }
        return FlagAnswers(answer, entityTag: kept["etag"]?.stringValue, context: kept["context"] ?? .null)
    }
}
