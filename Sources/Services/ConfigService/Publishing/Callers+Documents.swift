import MartletAPI
import MartletHTTP

extension Callers {
    /// The app's server, and staff with one of the actions for some kind of document. The endpoint checks the right for
    /// the kind in the path.
    static func documentManagers(_ actions: StaffAction...) -> Callers {
        .managers(actions, [.config, .experiments, .languages])
    }
}
