import Foundation

/// The app and the device, as conditions, events, crash reports and installations describe them.
public struct DeviceInfo: Sendable, Hashable {
    /// `2.4.2`: one to four numbers, which decide the configuration and the texts that the app gets.
    public var appVersion: String
    public var build: String?
    /// `com.example.shop`
    public var bundleIdentifier: String?
    /// `ios`, `macos`, `watchos`, `tvos`, `visionos` or `linux`
    public var platform: String
    /// `iOS`
    public var systemName: String
    public var systemVersion: String
    public var manufacturer: String?
    /// `iPhone15,2`
    public var model: String
    /// A BCP 47 tag: `de-AT`
    public var language: String
    /// Two letters: `AT`
    public var country: String?
    public var timeZone: String

    /// A description of this process and its device.
    public static var current: DeviceInfo {
        let info = Bundle.main.infoDictionary ?? [:]
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return DeviceInfo(
            appVersion: info["CFBundleShortVersionString"] as? String ?? "1.0",
            build: info["CFBundleVersion"] as? String, bundleIdentifier: Bundle.main.bundleIdentifier,
            platform: platformName.lowercased(), systemName: platformName,
            systemVersion: "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)",
            manufacturer: platformName == "Linux" ? nil : "Apple", model: machine, language: preferredLanguage,
            country: regionCode, timeZone: TimeZone.current.identifier)
    }

    /// `2.4.2+45`, the name of the release in events and crash reports.
    var release: String { build.map { appVersion + "+" + $0 } ?? appVersion }

    private static var platformName: String {
        #if os(macOS) || targetEnvironment(macCatalyst)
        "macOS"
        #elseif os(iOS)
        "iOS"
        #elseif os(watchOS)
        "watchOS"
        #elseif os(tvOS)
        "tvOS"
        #elseif os(visionOS)
        "visionOS"
        #else
        "Linux"
        #endif
    }

    private static var preferredLanguage: String {
        let tag = Locale.preferredLanguages.first ?? Locale.current.identifier
        return tag.replacingOccurrences(of: "_", with: "-")
    }

    private static var regionCode: String? {
        let parts = Locale.current.identifier.split(whereSeparator: { "_-@.".contains($0) })
        return parts.dropFirst().first { $0.count == 2 }.map { $0.uppercased() }
    }

    private static var machine: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "unknown" }
        return withUnsafeBytes(of: &name.machine) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
