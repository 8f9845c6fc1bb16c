import Foundation
import MartletKitSignals

extension Martlet {
    /// Reports of errors and crashes.
    public var crashes: Crashes { parts.crashes }
}

/// Reports errors that the app caught, and crashes.
///
/// ```swift
/// configuration.sentryDSN = "https://mi_live_…@api.example.org/crash/1"     // sentryDSN of connection.json
/// let martlet = Martlet(configuration)
/// martlet.crashes.start()
/// …
/// martlet.crashes.add(Breadcrumb("Opened the cart", category: "navigation"))
/// do { try load() } catch { martlet.crashes.capture(error) }
/// ```
///
/// Reports wait on disk until the server has confirmed them. A crash is written by a signal handler and sent when the
/// app is started the next time. Turn addresses into names by uploading the app's debug symbols.
public final class Crashes: Sendable {
    private static let maximumWaiting = 50

    private let configuration: Martlet.Configuration
    private let address: CrashAddress?
    private let raw: LocalFolder
    private let outbox: LocalFolder
    private let scope = Locked(CrashScope())
    private let isStarted = Locked(false)
    private let sending = SharedRun()

    init(_ api: APIClient, _ folder: LocalFolder) {
        configuration = api.configuration
        address = configuration.sentryDSN.flatMap { CrashAddress($0) }
        raw = folder.subfolder("raw")
        outbox = folder.subfolder("outbox")
        if configuration.sentryDSN != nil, address == nil {
            configuration.log(.error, "The address for crash reports is not valid; errors and crashes are not reported")
        }
    }

    /// Watches for crashes from now on, and sends reports of earlier ones. Call it once, as early as possible.
    ///
    /// No crash is reported under a debugger, because the debugger stops the process before the handler runs. Another
    /// crash reporter in the same app keeps working if it was started before this one: its handlers run afterwards.
    public func start() {
        guard address != nil else { return }
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        collectCrash()
        do {
            try raw.create()
            let failure = martlet_signals_start(raw.path(of: Self.rawFile))
            if failure != 0 { throw MartletError(.fileFailed, "Could not open the file for crashes: errno \(failure)") }
            update { _ in }
            ExceptionHook.install { [weak self] name, reason in self?.update { $0.exception = (name, reason) } }
        } catch {
            configuration.log(.error, "Could not set up crash reports; crashes are not reported", ["error": "\(error)"])
        }
        Task { await send() }
    }

    // MARK: Context of reports

    /// Remembers something that may explain a later error. The last 60 are kept.
    public func add(_ breadcrumb: Breadcrumb) {
        let now = configuration.clock.now()
        update { $0.add(breadcrumb, now: now) }
    }

    /// A tag by which reports can be found: at most 50, of 200 characters. Nil removes it.
    public func setTag(_ name: String, _ value: String?) { update { $0.setTag(name, value) } }

    func changed(userID: String?) { update { $0.userID = userID } }

    private func update(_ change: (inout CrashScope) -> Void) {
        scope.withLock { scope in
            change(&scope)
            // Under the lock, because two threads must not set the buffer at the same time.
            guard isStarted.withLock({ $0 }) else { return }
            var data = scope.json.data
            if data.count > CrashScope.maximumSize {
                var smaller = scope.json
                smaller["breadcrumbs"] = nil
                data = smaller.data
            }
            data.withUnsafeBytes { bytes in
                martlet_signals_set_context(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
            }
        }
    }

    // MARK: Capturing

    /// Reports an error that the app caught.
    ///
    /// - Returns: The report's id, nil if reporting is off.
    @discardableResult
    public func capture(
        _ error: any Error, level: CrashLevel = .error, function: String = #function, file: String = #fileID,
        line: Int = #line
    ) -> String? {
        guard address != nil else { return nil }
        let images = CodeImage.loaded()
        return keep(
            builder.json(
                error, level: level, place: "\(function) (\(file):\(line))", frames: CodeImage.callers(),
                images: images, scope: scope.withLock { $0.json }, now: configuration.clock.now()))
    }

    /// Reports a message.
    @discardableResult
    public func capture(
        message: String, level: CrashLevel = .info, function: String = #function, file: String = #fileID,
        line: Int = #line
    ) -> String? {
        guard address != nil else { return nil }
        return keep(
            builder.json(
                message: message, level: level, place: "\(function) (\(file):\(line))",
                scope: scope.withLock { $0.json }, now: configuration.clock.now()))
    }

    /// Sends all waiting reports. This also happens in ``start()`` and after each report.
    public func flush() async { await send() }

    // MARK: Implementation

    private static let rawFile = ProcessInfo.processInfo.processName.replacingOccurrences(of: "/", with: "_") + ".crash"

    private var builder: CrashEvent {
        CrashEvent(
            device: configuration.device, environment: configuration.environment == .test ? "test" : "production")
    }

    /// Moves the crash report of an earlier process to the outbox. If the app crashes meanwhile, the next start
    /// repeats this with the same report id.
    private func collectCrash() {
        guard let data = raw.read(Self.rawFile), !data.isEmpty else { return }
        if let report = CrashReport(data) {
            store(builder.json(report))
        } else {
            configuration.log(.warning, "Could not read the report of a crash", ["report.size": "\(data.count)"])
        }
        raw.remove(Self.rawFile)
    }

    private func keep(_ event: JSON) -> String? {
        store(event)
        Task { await send() }
        return event["event_id"]?.stringValue
    }

    private func store(_ event: JSON) {
        guard let id = event["event_id"]?.stringValue else { return }
        let now = Int(configuration.clock.now().timeIntervalSince1970)
        do {
            // The time comes first, so that sorting by name sorts by time.
            try outbox.write(event.data, to: "\(now)-\(id).json")
        } catch {
            configuration.log(.warning, "Could not store a report; it is lost", ["error": "\(error)"])
        }
        for name in outbox.names.dropLast(Self.maximumWaiting) { outbox.remove(name) }
    }

    private func send() async { try? await sending.run { [self] in await sendAll() } }

    private func sendAll() async {
        guard let address else { return }
        for name in outbox.names {
            guard let data = outbox.read(name), let event = try? JSON(parsing: data) else {
                outbox.remove(name)
                continue
            }
            do {
                let response = try await configuration.transport.send(
                    Self.envelope(event, address, configuration), progress: nil)
                let isRefused = (400..<500).contains(response.status) && ![401, 408, 429].contains(response.status)
                guard (200..<300).contains(response.status) || isRefused else {
                    configuration.log(
                        .info, "Could not send a report; it is kept", ["response.status": "\(response.status)"])
                    return
                }
                if isRefused {
                    configuration.log(
                        .warning, "The server refused a report", ["response.status": "\(response.status)"])
                }
                outbox.remove(name)
            } catch {
                configuration.log(.info, "Could not send a report; it is kept", ["error": "\(error)"])
                return
            }
        }
    }

    private static func envelope(
        _ event: JSON, _ address: CrashAddress, _ configuration: Martlet.Configuration
    ) -> HTTPRequest {
        let payload = event.data
        var body = JSON.object(["event_id": event["event_id"] ?? .null]).data + [UInt8(ascii: "\n")]
        body += JSON.object(["type": "event", "length": .number(JSONNumber(payload.count))]).data
        body += [UInt8(ascii: "\n")]
        body += payload + [UInt8(ascii: "\n")]
        let client = "martlet.kit/\(Martlet.version)"
        return HTTPRequest(
            method: "POST", url: address.url,
            headers: [
                "content-type": "application/x-sentry-envelope",
                "x-sentry-auth": "Sentry sentry_version=7, sentry_client=\(client), sentry_key=\(address.key)",
            ], body: body, timeout: .total(configuration.timeout))
    }
}

extension CodeImage {
    /// The images that are loaded now.
    static func loaded() -> [CodeImage] {
        martlet_signals_note_images()
        var images = [martlet_image](repeating: martlet_image(), count: 1_024)
        let count = martlet_signals_images(&images, images.count)
        return images.prefix(count).map { image in
            let id = withUnsafeBytes(of: image.id) { bytes in
                bytes.prefix(Int(image.id_length)).hexadecimal
            }
            let path = withUnsafeBytes(of: image.path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            return CodeImage(
                address: image.address, size: image.size, preferred: image.preferred, id: id, path: path)
        }
    }

    /// The return addresses on the current call stack, innermost first.
    static func callers() -> [UInt64] {
        var frames = [UInt64](repeating: 0, count: 128)
        let count = martlet_signals_backtrace(&frames, frames.count)
        return Array(frames.prefix(count))
    }
}
