import Foundation
import MartletKit
import MartletLogic

/// Decides which manifests an app may use.
struct DefinitionTrust: Sendable {
    let name: String
    let options: DefinitionOptions
    let configuration: Martlet.Configuration

    /// - Parameters:
    ///   - latest: A version that the manifest must not be older than.
    ///   - date: For the expiry of a manifest that has just arrived. One that was accepted stays valid.
    func check(_ answer: DefinitionStore.Answer, latest: Int?, at date: Date) throws -> DefinitionManifest {
        let keys = configuration.definitionKeys
        guard !keys.isEmpty else {
            throw MartletError(
                .invalidArgument, "Martlet.Configuration.definitionKeys is empty: no definition can be trusted.")
        }
        let manifest: DefinitionManifest
        do {
            // Refuses more than 64 levels, which `SignedManifest` would read by recursion.
            _ = try JSON(parsing: answer.json)
            manifest = try SignedManifest(json: answer.json).verified(
                name: name, environment: Self.environment(configuration, options), latest: latest, at: date
            ) { signature, message, id in
                keys.contains { $0.id == id && $0.isValid(signature: signature, of: message) }
            }
        } catch {
            let failure = error as? SignedManifest.Failure ?? .unreadable
            throw MartletError(.definitionRefused, Self.sentence(for: failure), underlyingError: error)
        }
        try manifest.checkShape()
        var missing = options.components.missing(manifest.requires)
        if let least = manifest.minClient, Self.isVersion(configuration.device.appVersion, below: least) {
            missing.append("version \(least) of the app")
        }
        guard missing.isEmpty else {
            throw MartletError(
                .definitionNotSupported,
                "The definition needs what this app does not have: \(missing.joined(separator: ", ")).")
        }
        return manifest
    }

    static func environment(_ configuration: Martlet.Configuration, _ options: DefinitionOptions) -> String {
        let own = configuration.appKey.hasPrefix("mk_test_") ? "test" : "live"
        return (configuration.environment?.rawValue ?? own) + (options.preview == nil ? "" : "-preview")
    }

    private static func isVersion(_ version: String, below least: String) -> Bool {
        func numbers(_ text: String) -> [Int] { text.split(separator: ".").prefix(4).map { Int($0) ?? 0 } }
        func padded(_ numbers: [Int]) -> [Int] { numbers + [Int](repeating: 0, count: 4 - numbers.count) }
        return padded(numbers(version)).lexicographicallyPrecedes(padded(numbers(least)))
    }

    private static func sentence(for failure: SignedManifest.Failure) -> String {
        switch failure {
        case .unreadable: "The manifest cannot be read."
        case .notSigned: "The manifest is not signed by a key that the app trusts, or was changed after signing."
        case .notThisApp: "The manifest is for another definition or environment."
        case .older(let latest): "The manifest is older than version \(latest), which the device has seen."
        case .expired: "The manifest has expired: newer ones are withheld, or the device's clock is wrong."
        }
    }
}
