import Foundation
import Hummingbird
public import MartletAPI
import MartletCore
import MartletHTTP

/// The OIDC provider of one app and environment, with which users sign in to other applications.
public struct Issuer: Sendable {
    let space: AppSpace
    let appName: String
    /// The issuer's name in tokens and answers; without a trailing slash.
    let url: String
    /// The path of `url`, to which cookies are limited.
    let path: String

    /// `{publicURL}/oidc/{app}`, with `-test` appended for the test environment. App ids never contain a dash.
    ///
    /// The URL contains no app key, so that it stays the same when an app key is replaced.
    public static func url(publicURL: String, _ appID: String, _ environment: AppEnvironment) -> String {
        (publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL) + "/oidc/" + appID
            + (environment == .test ? "-test" : "")
    }

    init(publicURL: String, space: AppSpace, appName: String) {
        self.space = space
        self.appName = appName
        url = Self.url(publicURL: publicURL, space.appID, space.environment)
        path = URL(string: url)?.path() ?? "/oidc"
    }

    /// Whether browsers use TLS to reach the issuer.
    var isSecure: Bool { url.hasPrefix("https:") }

    func endpoint(_ name: String) -> String { url + "/" + name }
}

/// Finds the issuer named in a path.
struct Issuers: Sendable {
    let feed: KeyRingFeed
    let publicURL: String

    /// - Throws: `forbidden` if the request did not use the provider's route, `not-found`, `unavailable`.
    func issuer(_ context: ServiceContext) throws -> Issuer {
        guard try context.principal.kind == .visitor else { throw ServiceError(.forbidden) }
        guard let ring = feed.current else { throw ServiceError(.unavailable) }
        let name = context.component("app")
        let environment: AppEnvironment = name.hasSuffix("-test") ? .test : .live
        let id = environment == .test ? String(name.dropLast("-test".count)) : name
        guard let app = ring.apps.first(where: { $0.id == id }) else { throw ServiceError(.notFound) }
        return Issuer(
            publicURL: publicURL, space: AppSpace(appID: app.id, environment: environment), appName: app.name)
    }
}
