import MartletAPI
import MartletHTTP
import MartletPostgres

extension ServiceContext {
    /// The space whose notifications are managed, and the author: the app's own server, or a staff member with the
    /// right.
    ///
    /// - Throws: `forbidden`, `app-not-found`.
    func notifications(may action: StaffAction, _ spaces: Spaces) async throws -> (space: Space, author: Author) {
        let author = try author(may: action, .notifications)
        return (try await spaces.space(of: try principal), author)
    }
}
