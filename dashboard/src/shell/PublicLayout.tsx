/** The route of the pages for people who are not logged in. */
import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { PublicFrame } from './PublicFrame.tsx';

/** The page of the route in its frame. */
export const PublicLayout = (): ReactNode => (
  <PublicFrame>
    <Outlet />
  </PublicFrame>
);
