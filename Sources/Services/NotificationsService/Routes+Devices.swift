import MartletHTTP

extension NotificationsService {
    /// Adds the routes for push credentials and installations.
    func addDevicesRoutes(to routes: inout RouteTable) {
        let (access, store) = (devices.access, devices.installations)
        routes.section = .notifications
        routes.on(PutInstallation.route, PutInstallation(access: access, store: store))
        routes.on(ReadInstallation.route, ReadInstallation(access: access, store: store))
        routes.on(PatchInstallation.route, PatchInstallation(access: access, store: store))
        routes.on(DeleteInstallation.route, DeleteInstallation(access: access, store: store))
        routes.on(ChangeChannel.route, ChangeChannel(access: access, store: store, isMember: true))
        routes.on(
            ChangeChannel.leaveChannel, ChangeChannel(access: access, store: store, isMember: false)
        )
        routes.on(ReadPushKey.route, ReadPushKey(spaces: spaces, credentials: devices.credentials))
        routes.on(SignOut.route, SignOut(spaces: spaces, store: store))

        let credentials = devices.credentials.store
        routes.on(ListCredentials.route, ListCredentials(spaces: spaces, store: credentials))
        routes.on(ReadCredential.route, ReadCredential(spaces: spaces, store: credentials))
        routes.on(PutCredential.route, PutCredential(spaces: spaces, credentials: devices.credentials))
        routes.on(DeleteCredential.route, DeleteCredential(spaces: spaces, credentials: devices.credentials))
        routes.on(TestCredential.route, TestCredential(spaces: spaces, devices: devices))

        routes.on(ListInstallations.route, ListInstallations(spaces: spaces, store: store))
        routes.on(CountInstallations.route, CountInstallations(spaces: spaces, store: store))
        routes.on(ReadManagedInstallation.route, ReadManagedInstallation(spaces: spaces, store: store))
        routes.on(DeleteManagedInstallation.route, DeleteManagedInstallation(spaces: spaces, store: store))
    }
}
