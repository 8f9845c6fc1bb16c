import HTTPTypes
import MartletAPI
import MartletCore
import MartletSentry

/// The app, device and place that an event comes from. Each is a text that many events share.
struct Dimensions: Sendable, Hashable {
    /// Version and build, such as `1.2.3+45`.
    var release: String?
    /// Such as `iOS 17.2`.
    var os: String?
    /// Such as `Apple iPhone15,2`.
    var device: String?
    /// The version of the configuration that was in effect.
    var configuration: String?
    /// Such as `checkout=dark, size=b`, sorted by name.
    var variants: String?
    /// Two capital letters (ISO 3166-1).
    var country: String?

    init() {}

    /// The dimensions shared by all events of a request. Clients send back the headers that came with their
    /// configuration.
    init(_ headers: HTTPFields) {
        configuration = headers[HTTPField.Name(HeaderName.configVersion)!].flatMap(Self.version)
        variants = headers[HTTPField.Name(HeaderName.experiments)!].flatMap(Self.variants)
    }

    /// The dimensions in a message's `context`, under Segment's names or Martlet's. Missing dimensions come from
    /// `defaults`.
    init(_ context: JSONValue, defaults: Dimensions) {
        self = defaults
        release =
            Self.release(version: context["app"]?["version"]?.scalar, build: context["app"]?["build"]?.scalar)
            ?? release
        // Browsers report the operating system only by User-Agent Client Hints.
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

    /// The dimensions that are present, each with its `TermKind`.
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

    /// Joins make and model, or name and version.
    static func joined(_ first: String?, _ second: String?) -> String? {
        guard let first, let second else { return (first ?? second)?.cut }
        return (first + " " + second).cut
    }

    /// - Parameter text: The value of the header `Config-Version`, `"12";date="…"`, or the version alone.
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

    /// - Parameter text: The value of the header `Experiments`. Malformed pairs are ignored; if an experiment occurs
    ///   twice, the first occurrence counts.
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

    /// The two letters of a country code (ISO 3166-1) in upper case; nil if the text is something else.
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
    /// The JSON text of an object; nil for any other value.
    var objectText: String? {
        guard case .object = self else { return nil }
        return text
    }

    /// A string that is not empty, or a number as it was written.
    var scalar: String? {
        switch self {
        case .string(let text) where !text.isEmpty: text
        case .number(let literal): literal
        default: nil
        }
    }
}

extension String {
    /// The text cut to a term's maximum length, without splitting a code point.
    var cut: String { cut(toBytes: TermKind.maximumLengthInBytes) }
}
