import Foundation
public import MartletCore

/// An exception in the format of Martlet's first client: `TBException`.
///
/// `{"level","name","reason","message","userInfo","stackReturnAddress":[…],"stackSymbols":[…],"method","file","line",
/// "tags":{…},"timeStamp","buildVersion"|"version","osVersion"|"OSVersion","deviceMake","deviceModel","configVersion",
/// "uncaught"}`; every member is optional.
public struct TBAnalyticsException: Sendable {
    private let value: JSONValue

    public init(_ value: JSONValue) {
        self.value = value
    }

    /// The exception as an event in Sentry's format.
    public var event: JSONValue {
        var members: [JSONValue.Member] = [
            .init("platform", .string("cocoa")), .init("sdk", .object([.init("name", .string("martlet.thesis"))])),
        ]
        func add(_ name: String, _ value: JSONValue?) {
            if let value, value != .null { members.append(.init(name, value)) }
        }
        add("timestamp", first("timeStamp", "timestamp", "date"))
        add("level", text("level").map { .string(Level(name: $0)?.name ?? (isUncaught ? "fatal" : "error")) })
        add("release", text("buildVersion", "version", "appVersion").map(JSONValue.string))
        add("tags", .object(tags))
        add("contexts", .object([.init("os", os), .init("device", device)]))
        add("extra", value["userInfo"].map { $0.looseText == nil ? $0 : .object([.init("userInfo", $0)]) })
        add("user", text("userId", "userID", "user").map { .object([.init("id", .string($0))]) })
        add("transaction", text("className").map(JSONValue.string))
        if let name = text("name", "domain") {
            add("exception", .object([.init("values", .array([exception(name)]))]))
        } else {
            add("logentry", text("message", "reason").map { .object([.init("formatted", .string($0))]) })
            if !frames.isEmpty { add("stacktrace", .object([.init("frames", .array(frames))])) }
        }
        return .object(members)
    }

    private var isUncaught: Bool {
        value["uncaught"]?.looseFlag ?? value["caught"]?.looseFlag.map { !$0 }
            ?? (text("name") != nil && value["stackSymbols"] != nil && text("method") == nil)
    }

    private func exception(_ name: String) -> JSONValue {
        .object([
            .init("type", .string(name)), .init("value", .string(text("reason", "message") ?? "")),
            .init("mechanism", .object([.init("type", .string("martlet")), .init("handled", .bool(!isUncaught))])),
            .init("stacktrace", frames.isEmpty ? .null : .object([.init("frames", .array(frames))])),
        ])
    }

    /// The frames of `stackSymbols` ("3 CoreFoundation 0x0000000185a8b1d8 <redacted> + 36"), oldest call first; without
    /// symbols, a single frame for `method`.
    private var frames: [JSONValue] {
        let symbols =
            (value["stackSymbols"] ?? value["callStackSymbols"])?.looseList.compactMap(\.looseText).prefix(250) ?? []
        if !symbols.isEmpty { return symbols.reversed().map(Self.frame) }
        guard let method = text("method", "function") else { return [] }
        return [
            .object([
                .init("function", .string(method)), .init("filename", .string(text("file", "fileName") ?? "")),
                .init(
                    "lineno",
                    value["line"]?.looseNumber.map { .number("\(Int($0.isFinite ? max(0, min($0, 1e9)) : 0))") }
                        ?? .null), .init("in_app", .bool(true)),
            ])
        ]
    }

    private static func frame(_ symbol: String) -> JSONValue {
        let parts = symbol.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: true)
        guard parts.count == 4, Int(parts[0]) != nil, parts[2].hasPrefix("0x") else {
            return .object([.init("function", .string(symbol))])
        }
        let function = parts[3].range(of: " + ", options: .backwards).map { parts[3][..<$0.lowerBound] } ?? parts[3]
        return .object([
            .init("function", .string(String(function).trimmingCharacters(in: .whitespaces))),
            .init("package", .string(String(parts[1]))),
            .init("instruction_addr", .string(String(parts[2]))), .init("in_app", .bool(!isSystem(parts[1]))),
        ])
    }

    /// Decides by the name alone, because there is no path.
    private static func isSystem(_ image: Substring) -> Bool {
        image.hasPrefix("lib")
            || [
                "???", "CoreFoundation", "Foundation", "UIKit", "UIKitCore", "GraphicsServices", "QuartzCore",
                "CFNetwork", "dyld", "SwiftUI",
            ].contains(image)
    }

    private var tags: [JSONValue.Member] {
        var tags = value["tags"]?.looseMembers ?? []
        if let version = text("configVersion") { tags.append(.init("martlet.config", .string(version))) }
        return tags
    }

    private var os: JSONValue {
        let version = text("osVersion", "OSVersion", "os") ?? tag("osVersion", "OS", "os")
        return .object([.init("name", .string(text("osName") ?? "")), .init("version", .string(version ?? ""))])
    }

    private var device: JSONValue {
        .object([
            .init("model", .string(text("deviceModel", "device", "deviceMake") ?? tag("deviceModel", "device") ?? ""))
        ])
    }

    private func first(_ names: String...) -> JSONValue? { names.lazy.compactMap { value[$0] }.first { $0 != .null } }

    private func text(_ names: String...) -> String? {
        names.lazy.compactMap { value[$0]?.looseText }.first { !$0.isEmpty }
    }

    private func tag(_ names: String...) -> String? {
        let tags = value["tags"]?.looseMembers ?? []
        return names.lazy.compactMap { name in tags.first { $0.name == name }?.value.looseText }.first { !$0.isEmpty }
    }
}
