import Hummingbird
import MartletHTTP

extension NotificationsService {
    /// Adds the routes for push credentials and installations.
    func addDevicesRoutes(to router: Router<ServiceContext>) {
        let (access, store) = (devices.access, devices.installations)
        router.on(.put, "installations/:id", PutInstallation(access: access, store: store))
        router.on(.get, "installations/:id", ReadInstallation(access: access, store: store))
        router.on(.patch, "installations/:id", PatchInstallation(access: access, store: store))
        router.on(.delete, "installations/:id", DeleteInstallation(access: access, store: store))
        router.on(
            .put, "installations/:id/channels/:channel", ChangeChannel(access: access, store: store, isMember: true))
        router.on(
            .delete, "installations/:id/channels/:channel", ChangeChannel(access: access, store: store, isMember: false)
        )
        router.on(.get, "push/key", ReadPushKey(spaces: spaces, credentials: devices.credentials))
        router.on(.post, "internal/users/sign-out", SignOut(spaces: spaces, store: store))

        let credentials = devices.credentials.store
        router.on(.get, "notifications/credentials", ListCredentials(spaces: spaces, store: credentials))
        router.on(.get, "notifications/credentials/:kind", ReadCredential(spaces: spaces, store: credentials))
        router.on(
            .put, "notifications/credentials/:kind", PutCredential(spaces: spaces, credentials: devices.credentials))
        router.on(
            .delete, "notifications/credentials/:kind",
            DeleteCredential(spaces: spaces, credentials: devices.credentials))
        router.on(.post, "notifications/credentials/:kind/test", TestCredential(spaces: spaces, devices: devices))

        router.on(.get, "notifications/installations", ListInstallations(spaces: spaces, store: store))
        router.on(.get, "notifications/installations/counts", CountInstallations(spaces: spaces, store: store))
        router.on(.get, "notifications/installations/:id", ReadManagedInstallation(spaces: spaces, store: store))
        router.on(.delete, "notifications/installations/:id", DeleteManagedInstallation(spaces: spaces, store: store))
    }
}
