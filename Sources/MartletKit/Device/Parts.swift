import Foundation

/// The parts of a client that have state.
package final class Parts: Sendable {
    package let identity: InstallationIdentity
    package let documents: DocumentEvents
    let remote: RemoteConfiguration
    package let translations: Translations
    let analytics: Analytics
    let flags: Flags
    let crashes: Crashes
    let notifications: Notifications
    let offline: Offline
    /// The files of `MartletScreens`: a folder for each definition.
    package let definitions: LocalFolder

    init(_ configuration: Martlet.Configuration, api: APIClient) {
        let folder = LocalFolder(url: configuration.folder)
        let defaults = BundledDefaults(configuration.defaults)
        identity = InstallationIdentity.load(from: folder)
        documents = DocumentEvents(api)
        remote = RemoteConfiguration(api, identity, documents, folder.subfolder("configuration"), defaults)
        translations = Translations(api, documents, folder.subfolder("translations"), defaults)
        analytics = Analytics(api, identity, folder.subfolder("analytics"))
        flags = Flags(api, identity, documents, folder.subfolder("flags"), defaults, analytics)
        // Weak, because the flags have a strong reference to the analytics.
        analytics.useExperimentState { [remote, weak flags] in
            let version = remote.current.version
            let variants = remote.current.experiments.merging(flags?.experiments ?? [:]) { $1 }
            return (version.isEmpty ? nil : version, variants)
        }
        crashes = Crashes(api, folder.subfolder("crashes"))
        notifications = Notifications(api, identity, folder.subfolder("notifications"))
        offline = Offline(api, folder.subfolder("offline"))
        definitions = folder.subfolder("definitions")
        followSignIn(api.session)
    }

    /// Updates the parts whenever a user signs in or out.
    private func followSignIn(_ session: SessionKeeper) {
        Task { [weak self] in
            var calls: Task<Void, Never>?
            for await state in await session.states() {
                guard let self else { return }
                var userID: String?
                if case .signedIn(let user) = state { userID = user.id }
                analytics.changed(userID: userID)
                crashes.changed(userID: userID)
                UserModels.forget(allBut: userID, in: definitions)
                let asksForFlags = flags.changed(userID: userID)
                // In order, but outside this loop: handling the next user must not wait for the network.
                calls = Task { [calls, flags, notifications] in
                    await calls?.value
                    if asksForFlags { await flags.refreshQuietly() }
                    await notifications.changedUser()
                }
            }
        }
    }
}

extension Martlet {
    /// The version of MartletKit.
    static let version = "1.0.0"
}

/// The defaults built into the app, used until the server's first answer.
///
/// ```json
/// {"remote": {"mainSettings": {"url": "https://…"}, "colors": […]}, "flags": {"new-checkout": false},
///  "translations": {"en": {"language": "en", "strings": {"bye": "Bye"}}}}
/// ```
///
/// `remote` and each of `translations` are answers of the server, as they were when the app was built.
struct BundledDefaults: Sendable {
    let remote: JSON?
    let flags: JSON?
    let translations: JSON?

    init(_ file: URL?) {
        let json = file.flatMap { LocalFolder(url: $0.deletingLastPathComponent()).readJSON($0.lastPathComponent) }
        remote = json?["remote"]
        flags = json?["flags"]
        translations = json?["translations"]
    }
}
