import Foundation
import MartletCore

/// Reduces a report to what is stored: bounded, in one format, and without passwords and IP addresses.
struct EventScrubber {
    private static let maximumDepth = 12
    private static let maximumFrames = 250
    private static let maximumTextLength = 8_192
    private static let maximumMembers = 1_000
    private static let maximumImages = 1_000
    private static let maximumBreadcrumbs = 100
    private static let filtered = JSONValue.string("[Filtered]")
    /// Substrings of names whose values must be filtered.
    private static let secrets = [
        "password", "passwd", "secret", "api_key", "apikey", "authorization", "credential", "private_key", "privatekey",
        "token", "bearer", "cookie", "x-forwarded-for",
        "session_id", "sessionid",
    ]
    /// Headers in which proxies and CDNs pass on the client's IP address.
    private static let addressHeaders: Set<String> = [
        "x-real-ip", "forwarded", "x-client-ip", "x-cluster-client-ip", "x-original-forwarded-for",
        "x-envoy-external-address", "cf-connecting-ip",
        "cf-connecting-ipv6", "true-client-ip", "fastly-client-ip", "x-appengine-user-ip", "x-azure-clientip",
        "remote-addr",
    ]
    /// Members that contain a URL or a query.
    private static let urlMembers: Set<String> = [
        "url", "query_string", "http.query", "http.url", "http.fragment", "from", "to",
    ]
    /// Members that are handled elsewhere or not stored.
    private static let dropped: Set<String> = ["event_id", "tags", "_meta", "_metrics", "interfaces", "martlet"]

    private let members: [JSONValue.Member]

    init(_ value: JSONValue, wrong: Set<String>) {
        members = value.looseMembers.filter {
            !Self.dropped.contains($0.name) && !wrong.contains($0.name) && $0.value != .null
        }
    }

    func content(id: UUID, tags: [Event.Tag]) -> JSONValue {
        var content: [JSONValue.Member] = [.init("event_id", .string(id.eventID))]
        for member in members.prefix(100) { content.append(.init(Self.name(member.name), kept(member))) }
        if !tags.isEmpty { content.append(.init("tags", .object(tags.map { .init($0.key, .string($0.value)) }))) }
        return .object(content)
    }

    private func kept(_ member: JSONValue.Member) -> JSONValue {
        switch member.name {
        // The last exception is the subject of the report; the others are its causes.
        case "exception": list(Array(member.value.looseList.suffix(50)))
        case "threads": list(Array(member.value.looseList.prefix(50)))
        case "breadcrumbs":
            .object([
                .init(
                    "values",
                    .array(member.value.looseList.suffix(Self.maximumBreadcrumbs).map { bounded($0, depth: 2) }))
            ])
        case "stacktrace": stack(member.value)
        case "user": user(member.value)
        case "request": request(member.value)
        case "debug_meta": images(member.value)
        case "modules", "sdk", "fingerprint": bounded(member.value, depth: 1, isFiltered: false)
        default: bounded(member.value, depth: 1)
        }
    }

    private func list(_ elements: [JSONValue]) -> JSONValue {
        let elements = elements.map { element -> JSONValue in
            guard case .object(let members) = element else { return bounded(element, depth: 2) }
            return .object(
                members.prefix(Self.maximumMembers).map { member in
                    let isStack = member.name == "stacktrace" || member.name == "raw_stacktrace"
                    return .init(
                        Self.name(member.name),
                        isStack ? stack(member.value) : bounded(member.value, depth: 3, isFiltered: false))
                })
        }
        return .object([.init("values", .array(elements))])
    }

    /// Keeps the two ends of a stack that is too deep: its origin and the point of failure.
    private func stack(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return .null }
        return .object(
            members.map { member in
                guard member.name == "frames" else {
                    return .init(Self.name(member.name), bounded(member.value, depth: 5, isFiltered: false))
                }
                let frames = member.value.looseList
                let half = Self.maximumFrames / 2
                let kept =
                    frames.count <= Self.maximumFrames ? frames : Array(frames.prefix(half) + frames.suffix(half))
                return .init("frames", .array(kept.map { bounded($0, depth: 5) }))
            })
    }

    /// Removes the IP address and the location derived from it.
    private func user(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return .null }
        return bounded(.object(members.filter { $0.name != "ip_address" && $0.name != "geo" }), depth: 1)
    }

    private func request(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return .null }
        return .object(
            members.filter { !["cookies", "env"].contains($0.name) }.map { member in
                guard member.name == "headers" else { return .init(Self.name(member.name), filtered(member, depth: 2)) }
                let headers = member.value.looseMembers.filter { !Self.addressHeaders.contains($0.name.lowercased()) }
                return .init("headers", bounded(.object(headers), depth: 2))
            })
    }

    private func images(_ value: JSONValue) -> JSONValue {
        let images = (value["images"]?.looseList ?? []).prefix(Self.maximumImages).map {
            bounded($0, depth: 3, isFiltered: false)
        }
        return .object([.init("images", .array(images))])
    }

    private func bounded(_ value: JSONValue, depth: Int, isFiltered: Bool = true) -> JSONValue {
        switch value {
        case .string(let text): return .string(text.cut(to: Self.maximumTextLength))
        case .array(let elements):
            guard depth < Self.maximumDepth else { return .string("…") }
            return .array(
                elements.prefix(Self.maximumMembers).map { bounded($0, depth: depth + 1, isFiltered: isFiltered) })
        case .object(let members):
            guard depth < Self.maximumDepth else { return .string("…") }
            return .object(
                members.prefix(Self.maximumMembers).map { member in
                    .init(
                        Self.name(member.name),
                        isFiltered
                            ? filtered(member, depth: depth + 1)
                            : bounded(member.value, depth: depth + 1, isFiltered: false))
                })
        default: return value
        }
    }

    /// A member's value, filtered if the name suggests a secret.
    private func filtered(_ member: JSONValue.Member, depth: Int) -> JSONValue {
        if Self.canBeSecret(member.value), Self.isSecret(member.name) { return Self.filtered }
        if case .string(let text) = member.value, Self.urlMembers.contains(member.name) {
            return .string(Self.withoutSecrets(text.cut(to: Self.maximumTextLength)))
        }
        return bounded(member.value, depth: depth)
    }

    /// Filters the values of secret parameters in a URL or query: `https://x/?page=1&token=[Filtered]`.
    private static func withoutSecrets(_ text: String) -> String {
        guard isSecret(text) else { return text }
        func parts(_ text: Substring) -> String {
            text.split(separator: "&", omittingEmptySubsequences: false).map { part in
                guard let equals = part.firstIndex(of: "=") else { return part }
                let name = part[..<equals].split(separator: "?").last ?? ""
                return isSecret(String(name)) ? part[...equals] + "[Filtered]" : part
            }.joined(separator: "&")
        }
        return text.split(separator: "#", omittingEmptySubsequences: false).map(parts).joined(separator: "#")
    }

    private static func name(_ name: String) -> String { name.cut(to: 200) }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secrets.contains { name.has($0) }
    }

    /// Numbers, booleans and null are never secrets.
    private static func canBeSecret(_ value: JSONValue) -> Bool {
        switch value {
        case .string, .array, .object: true
        default: false
        }
    }
}
