import Foundation
import Hummingbird
public import MartletAPI
import MartletCore
import MartletHTTP

/// The OIDC provider of one app and environment: a place where other applications let its users sign in.
public struct Issuer: Sendable {
    let space: UserSpace
    let appName: String
    /// As it names itself in tokens and answers; without a slash at its end.
    let url: String
    /// Of `url`: where its cookies are sent to.
    let path: String

    /// `{publicURL}/oidc/{app}`, with `-test` behind the app's id for the test environment: no id has a dash.
    ///
    /// App keys have no part in it, so that it outlives them.
    public static func url(publicURL: String, _ appID: String, _ environment: AppEnvironment) -> String {
        (publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL) + "/oidc/" + appID
            + (environment == .test ? "-test" : "")
    }

    init(publicURL: String, space: UserSpace, appName: String) {
        self.space = space
        self.appName = appName
        url = Self.url(publicURL: publicURL, space.appID, space.environment)
        path = URL(string: url)?.path() ?? "/oidc"
    }

    /// Whether browsers reach it by TLS.
    var isSecure: Bool { url.hasPrefix("https:") }

    func endpoint(_ name: String) -> String { url + "/" + name }
}

/// Finds the issuer that a path names.
struct Issuers: Sendable {
    let feed: KeyRingFeed
    let publicURL: String

    /// - Throws: `forbidden` for who did not come by the provider's door, `not-found`, `unavailable`.
    func issuer(_ context: ServiceContext) throws -> Issuer {
        guard try context.principal.kind == .visitor else { throw HTTPProblem(.forbidden) }
        guard let ring = feed.current else { throw HTTPProblem(.unavailable) }
        let name = context.parameters.get("app") ?? ""
        let environment: AppEnvironment = name.hasSuffix("-test") ? .test : .live
        let id = environment == .test ? String(name.dropLast("-test".count)) : name
        guard let app = ring.apps.first(where: { $0.id == id }) else { throw HTTPProblem(.notFound) }
        return Issuer(
            publicURL: publicURL, space: UserSpace(appID: app.id, environment: environment), appName: app.name)
    }
}
