import Foundation
import MartletCore

/// A crash in the format that KSCrash, and therefore Sentry's client for Apple's systems, writes to the device.
///
/// Those clients convert it to an event before sending it; reports from clients that do not are accepted as well.
struct KSCrashReport {
    private let report: JSONValue
    private let crash: JSONValue
    /// Paths of the images by their last component; the first one wins.
    private let paths: [Substring: String]

    /// Nil if the value is not such a report.
    init?(_ value: JSONValue) {
        guard let crash = value["crash"], crash["error"] != nil, value["report"] != nil, value["exception"] == nil
        else { return nil }
        report = value
        self.crash = crash
        let names = (value["binary_images"]?.looseList ?? []).compactMap { $0["name"]?.looseText }
        paths = Dictionary(names.map { ($0.lastComponent, $0) }, uniquingKeysWith: { first, _ in first })
    }

    var event: JSONValue {
        let scope = report["sentry_sdk_scope"]
        var members: [JSONValue.Member] = [.init("platform", .string("cocoa")), .init("level", .string("fatal"))]
        func add(_ name: String, _ value: JSONValue?) {
            if let value, value != .null { members.append(.init(name, value)) }
        }
        add("event_id", report["report"]?["id"])
        add("timestamp", report["report"]?["timestamp"])
        add("release", release)
        add("environment", scope?["environment"])
        add("user", scope?["user"])
        add("tags", scope?["tags"])
        add("extra", scope?["extra"] ?? report["user"])
        add("breadcrumbs", scope?["breadcrumbs"])
        add("contexts", contexts)
        add("debug_meta", .object([.init("images", .array(images))]))
        let threads = (crash["threads"]?.looseList ?? []).prefix(200).map(thread)
        add("threads", .object([.init("values", .array(threads))]))
        add("exception", .object([.init("values", .array([exception]))]))
        return .object(members)
    }

    private var exception: JSONValue {
        let error = crash["error"]
        let (type, value): (JSONValue?, JSONValue?) =
            switch error?["type"]?.looseText {
            case "nsexception": (error?["nsexception"]?["name"], error?["nsexception"]?["reason"] ?? error?["reason"])
            case "cpp_exception": (error?["cpp_exception"]?["name"] ?? .string("C++ exception"), error?["reason"])
            case "user": (error?["user_reported"]?["name"], error?["reason"])
            case "mach": (error?["mach"]?["exception_name"], crash["diagnosis"])
            default:
                (error?["signal"]?["name"] ?? error?["mach"]?["exception_name"], crash["diagnosis"] ?? error?["reason"])
            }
        let crashed = (crash["threads"]?.looseList ?? []).first { $0["crashed"]?.looseFlag == true }
        return .object([
            .init("type", type ?? .string("crash")), .init("value", value ?? .string("")),
            .init("thread_id", crashed?["index"] ?? .null),
            .init("mechanism", .object([.init("type", error?["type"] ?? .null), .init("handled", .bool(false))])),
            .init("stacktrace", crashed.map(stack) ?? .null),
        ])
    }

    private func thread(_ value: JSONValue) -> JSONValue {
        .object([
            .init("id", value["index"] ?? .null), .init("name", value["name"] ?? .null),
            .init("crashed", value["crashed"] ?? .bool(false)),
            .init("current", value["current_thread"] ?? .bool(false)), .init("stacktrace", stack(value)),
        ])
    }

    /// Sentry's order, oldest call first, is the reverse of KSCrash's.
    private func stack(_ thread: JSONValue) -> JSONValue {
        let frames = (thread["backtrace"]?["contents"]?.looseList ?? []).reversed().map { frame -> JSONValue in
            let path = frame["object_name"]?.looseText.map { name in paths[name.lastComponent] ?? name }
            return .object([
                .init("function", frame["symbol_name"] ?? .null), .init("package", path.map(JSONValue.string) ?? .null),
                .init("instruction_addr", Self.address(frame["instruction_addr"])),
                .init("symbol_addr", Self.address(frame["symbol_addr"])),
                .init("image_addr", Self.address(frame["object_addr"])),
                .init("in_app", path.flatMap(Frame.isInApp(package:)).map(JSONValue.bool) ?? .null),
            ])
        }
        return .object([.init("frames", .array(frames))])
    }

    private var images: [JSONValue] {
        (report["binary_images"]?.looseList ?? []).map { image in
            .object([
                .init("type", .string("macho")), .init("debug_id", image["uuid"] ?? .null),
                .init("code_file", image["name"] ?? .null),
                .init("image_addr", Self.address(image["image_addr"])),
                .init("image_size", image["image_size"] ?? .null),
                .init("image_vmaddr", Self.address(image["image_vmaddr"])),
            ])
        }
    }

    private var release: JSONValue? {
        let system = report["system"]
        guard let id = system?["CFBundleIdentifier"]?.looseText,
            let version = system?["CFBundleShortVersionString"]?.looseText
        else { return nil }
        let build = system?["CFBundleVersion"]?.looseText.map { "+" + $0 } ?? ""
        return .string("\(id)@\(version)\(build)")
    }

    private var contexts: JSONValue {
        let system = report["system"]
        let given =
            report["sentry_sdk_scope"]?["context"]?.looseMembers ?? report["user"]?["context"]?.looseMembers ?? []
        let os = JSONValue.object([
            .init("name", system?["system_name"] ?? .null), .init("version", system?["system_version"] ?? .null),
            .init("build", system?["os_version"] ?? .null),
        ])
        let device = JSONValue.object([
            .init("model", system?["machine"] ?? .null), .init("model_id", system?["model"] ?? .null),
        ])
        let own: [JSONValue.Member] = [.init("os", os), .init("device", device)]
        return .object(own + given.filter { member in !own.contains { $0.name == member.name } })
    }

    private static func address(_ value: JSONValue?) -> JSONValue {
        Frame.address(value).map { .string("0x" + String($0, radix: 16)) } ?? .null
    }
}
