import Foundation

/// Builds events of Sentry's protocol, which the server's crash intake reads.
struct CrashEvent {
    let device: DeviceInfo
    let environment: String

    /// The event of a process that was ended by a signal.
    func json(_ report: CrashReport) -> JSON {
        let name = report.scope["exceptionName"]?.stringValue
        let meaning = report.scope["exceptionReason"]?.stringValue ?? Self.meaning(of: report)
        var exception: JSON = [
            "type": .string(name ?? report.signalName), "value": .string(meaning),
            "mechanism": [
                "type": "signalhandler", "handled": false,
                "meta": [
                    "signal": [
                        "number": .number(JSONNumber(report.signal)), "code": .number(JSONNumber(report.code)),
                        "name": .string(report.signalName),
                    ]
                ],
            ],
        ]
        exception["stacktrace"] = stack(report.frames, report.images)
        var event = base(id: report.eventID, date: report.date, level: .fatal, scope: report.scope)
        event["exception"] = ["values": [exception]]
        event["debug_meta"] = images(report.images, report.frames)
        return event
    }

    /// The event of an error that the app caught.
    func json(
        _ error: any Error, level: CrashLevel, place: String, frames: [UInt64], images: [CodeImage], scope: JSON,
        now: Date
    ) -> JSON {
        var event = base(id: Self.newID(), date: now, level: level, scope: scope)
        var exception: JSON = [
            "type": .string(String(reflecting: type(of: error))), "value": .string(Self.text(of: error)),
            "mechanism": ["type": "generic", "handled": true],
        ]
        exception["stacktrace"] = stack(frames, images)
        event["exception"] = ["values": [exception]]
        event["debug_meta"] = self.images(images, frames)
        event["transaction"] = .string(place)
        return event
    }

    func json(message: String, level: CrashLevel, place: String, scope: JSON, now: Date) -> JSON {
        var event = base(id: Self.newID(), date: now, level: level, scope: scope)
        event["message"] = ["formatted": .string(String(message.prefix(8_000)))]
        event["transaction"] = .string(place)
        return event
    }

    private func base(id: String, date: Date, level: CrashLevel, scope: JSON) -> JSON {
        var event: JSON = [
            "event_id": .string(id), "timestamp": .string(RFC3339.text(date)), "level": .string(level.rawValue),
            "release": .string((device.bundleIdentifier ?? "app") + "@" + device.release),
            "environment": .string(environment), "platform": "native",
            "contexts": [
                "os": ["name": .string(device.systemName), "version": .string(device.systemVersion)],
                "device": ["model": .string(device.model), "type": "device"],
                "app": ["app_version": .string(device.appVersion), "type": "app"],
            ],
            "sdk": ["name": "martlet.kit", "version": .string(Martlet.version)],
        ]
        for name in ["tags", "user", "breadcrumbs"] { event[name] = scope[name] }
        return event
    }

    /// Frames are outermost first here.
    private func stack(_ frames: [UInt64], _ images: [CodeImage]) -> JSON {
        let program = images.first?.path
        let list = frames.reversed().map { address -> JSON in
            var frame: JSON = ["instruction_addr": .string(CodeImage.hex(address))]
            guard let image = images.first(where: { $0.contains(address) }) else { return frame }
            frame["image_addr"] = .string(CodeImage.hex(image.address))
            frame["package"] = .string(image.path)
            frame["in_app"] = .bool(image.path == program || image.path.contains(".app/"))
            return frame
        }
        return ["frames": .array(Array(list))]
    }

    /// The images that contain the stack's calls. The others say nothing about the crash.
    private func images(_ all: [CodeImage], _ frames: [UInt64]) -> JSON {
        let used = all.filter { image in frames.contains { image.contains($0) } }
        return ["images": .array(used.map(\.json))]
    }

    private static func meaning(of report: CrashReport) -> String {
        switch Int32(truncatingIfNeeded: report.signal) {
        case SIGILL, SIGTRAP: "A runtime check failed, or an illegal instruction"
        case SIGSEGV, SIGBUS: "Bad access at \(CodeImage.hex(report.faultAddress))"
        case SIGFPE: "Arithmetic error"
        case SIGABRT: "The process aborted"
        default: report.signalName
        }
    }

    private static func text(of error: any Error) -> String { String(String(describing: error).prefix(4_000)) }

    static func newID() -> String { UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "") }
}

/// Where reports go: `https://key@host/crash/1`.
struct CrashAddress: Sendable {
    let url: URL
    let key: String

    init?(_ text: String) {
        guard var parts = URLComponents(string: text), let key = parts.user, !key.isEmpty, parts.host != nil else {
            return nil
        }
        var path = parts.path.split(separator: "/")
        guard let project = path.popLast() else { return nil }
        parts.user = nil
        parts.password = nil
        parts.path = "/" + (path + ["api", project, "envelope"]).joined(separator: "/") + "/"
        guard let url = parts.url else { return nil }
        self.url = url
        self.key = key
    }
}
