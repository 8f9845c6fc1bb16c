import Foundation

/// The parts of a client that keep state of their own.
final class Parts: Sendable {
    let identity: InstallationIdentity
    let documents: DocumentEvents
    let remote: RemoteConfiguration
    let translations: Translations

    init(_ configuration: Martlet.Configuration, api: APIClient) {
        let folder = LocalFolder(url: configuration.folder)
        let defaults = BundledDefaults(configuration.defaults)
        identity = InstallationIdentity.load(from: folder)
        documents = DocumentEvents(api)
        remote = RemoteConfiguration(api, identity, documents, folder.subfolder("configuration"), defaults)
        translations = Translations(api, documents, folder.subfolder("translations"), defaults)
    }
}

/// What the app was built with, for the time before the first answer of the server.
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
