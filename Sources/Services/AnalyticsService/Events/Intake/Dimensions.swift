import HTTPTypes
import MartletAPI
import MartletCore
import MartletSentry

/// What an event says of the app, device and place that it comes from. Each is a text that many events share.
struct Dimensions: Sendable, Hashable {
    /// `1.2.3+45`: version and build.
    var release: String?
    /// `iOS 17.2`
    var os: String?
    /// `Apple iPhone15,2`
    var device: String?
    /// The version of the configuration that was in effect.
    var configuration: String?
    /// `checkout=dark, size=b`, in the order of the names.
    var variants: String?
    /// Two capital letters.
    var country: String?

    init() {}

    /// What holds for all that comes with a request: the headers that answers of configurations have, sent back.
    init(_ headers: HTTPFields) {
        configuration = headers[HTTPField.Name(HeaderName.configVersion)!].flatMap(Self.version)
        variants = headers[HTTPField.Name(HeaderName.experiments)!].flatMap(Self.variants)
    }

    /// What a message's `context` says, in Segment's words and in ours; the rest is as `defaults` have it.
    init(_ context: JSONValue, defaults: Dimensions) {
        self = defaults
        release =
            Self.release(version: context["app"]?["version"]?.scalar, build: context["app"]?["build"]?.scalar)
            ?? release
        // Browsers say it by User-Agent Client Hints only.
        os =
            Self.joined(context["os"]?["name"]?.scalar, context["os"]?["version"]?.scalar)
            ?? Self.joined(
                context["userAgentData"]?["platform"]?.scalar, context["userAgentData"]?["platformVersion"]?.scalar)
            ?? os
        device = Self.joined(context["device"]?["manufacturer"]?.scalar, context["device"]?["model"]?.scalar) ?? device
        configuration = context["configVersion"]?.scalar.flatMap(Self.version) ?? configuration
        variants = context["experiments"].flatMap(Self.variants) ?? variants
        country =
            (context["location"]?["country"]?.scalar).flatMap(Self.country) ?? context["locale"]?.scalar.flatMap(
                Self.region) ?? country
    }

    /// By kind of term, those that are said.
    var texts: [(TermKind, String)] {
        let all: [(TermKind, String?)] = [
            (.release, release), (.os, os), (.device, device), (.configuration, configuration), (.variants, variants),
            (.country, country),
        ]
        return all.compactMap { kind, text in text.map { (kind, $0) } }
    }

    static func release(version: String?, build: String?) -> String? {
        guard let build, build != version else { return version?.cut }
        return ((version ?? "") + "+" + build).cut
    }

    /// Make and model, or name and version.
    static func joined(_ first: String?, _ second: String?) -> String? {
        guard let first, let second else { return (first ?? second)?.cut }
        return (first + " " + second).cut
    }

    /// - Parameter text: as in the header `Config-Version`, `"12";date="…"`, or the version alone.
    static func version(_ text: String) -> String? {
        let version = text.prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
        return version.isEmpty ? nil : version.cut
    }

    private static func variants(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): variants(text)
        case .object(let members):
            variants(
                members.compactMap { member in member.value.scalar.map { member.name + "=" + $0 } }.joined(
                    separator: ","))
        default: nil
        }
    }

    /// - Parameter text: as in the header `Experiments`. What is no pair does not count; of an experiment the first
    ///   does.
    static func variants(_ text: String) -> String? {
        var pairs: [String: String] = [:]
        for pair in text.split(separator: ",").prefix(100) {
            let parts = pair.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, pairs[parts[0]] == nil else { continue }
            pairs[parts[0]] = parts[1]
        }
        var joined = ""
        for (experiment, variation) in pairs.sorted(by: { $0.key < $1.key }) {
            let pair = (joined.isEmpty ? "" : ", ") + experiment + "=" + variation
            guard joined.utf8.count + pair.utf8.count <= TermKind.maximumLengthOfVariantsInBytes else { break }
            joined += pair
        }
        return joined.isEmpty ? nil : joined
    }

    /// ISO 3166-1's two letters.
    static func country(_ text: String) -> String? {
        text.utf8.count == 2
            && text.utf8.allSatisfy { ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z") }
            ? text.uppercased() : nil
    }

    /// The region of a locale such as `de_CH`, `zh-Hant-TW` or `en_US.UTF-8`.
    static func region(_ locale: String) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        return name.split { $0 == "-" || $0 == "_" }.dropFirst().lazy.compactMap { country(String($0)) }.first
    }
}

extension JSONValue {
    /// The text of an object; nil for what is none.
    var objectText: String? {
        guard case .object = self else { return nil }
        return text
    }

    /// A text that says something, or a number as it is written.
    var scalar: String? {
        switch self {
        case .string(let text) where !text.isEmpty: text
        case .number(let literal): literal
        default: nil
        }
    }
}

extension String {
    /// As much of it as a term may have, whole code points.
    var cut: String { cut(toBytes: TermKind.maximumLengthInBytes) }
}
